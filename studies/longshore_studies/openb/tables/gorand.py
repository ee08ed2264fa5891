"""The stream of Go's `math/rand` after `rand.Seed`, number by number.

The published tables were made by a Go program, so its arrival order can only be had from the same stream. The generator
is additive: s[n] = s[n-607] + s[n-273] modulo 2^64. Its seed is mixed with the state that the generator itself reaches
after 7.8e12 steps from a fixed start; Go ships these 607 numbers as a table, here they are computed.
"""

from collections.abc import MutableSequence
from functools import lru_cache
from typing import Any

import numpy as np

from longshore.core.arrays.ops import Array
from longshore.core.words.errors import InputError

_LENGTH = 607
_TAP = 273
_JUMP = 7_800_000_000_000
_MASK64 = (1 << 64) - 1
_MASK63 = (1 << 63) - 1
_MASK32 = (1 << 32) - 1
_LEHMER_FACTOR = 48271
_LEHMER_MODULUS = (1 << 31) - 1
_LEHMER_WARMUP = 20
_SEED_FOR_ZERO = 89482311
"""Zero is the one state that a multiplicative generator cannot leave; Go puts this number in its place."""


class GoRand:
    """Go's `rand.New(rand.NewSource(seed))`, and after `rand.Seed(seed)` the functions of the package too."""

    def __init__(self, seed: int) -> None:
        # `%` of Python is never negative, as Go's code makes its own.
        state = _seed_words(seed % _LEHMER_MODULUS, (40, 20, 0)) ^ cooked()
        self._state: list[int] = state.tolist()
        self._feed = _LENGTH - _TAP
        self._tap = 0

    def uint64(self) -> int:
        """Return the next number of the stream, from all 64-bit numbers; all others are made of these."""
        # Going down from 0 to -1, and from -607 back to -1, an index of Python's wraps as Go's code makes its own.
        self._feed = self._feed - 1 if self._feed > -_LENGTH else -1
        self._tap = self._tap - 1 if self._tap > -_LENGTH else -1
        number = (self._state[self._feed] + self._state[self._tap]) & _MASK64
        self._state[self._feed] = number
        return number

    def int63(self) -> int:
        """Return a number from 0 to 2^63 - 1; Go's `Int()` on a 64-bit machine is the same."""
        return self.uint64() & _MASK63

    def int31n(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1 by Go's `Int31n`, for bounds below 2^31."""
        return self._below(bound, bits=31)

    def intn(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1 by Go's `Intn`."""
        return self._below(bound, bits=31 if bound < 1 << 31 else 63)

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Shuffle `items` in place by Go's `Shuffle`, which draws in another way than `Intn` and `Perm` do."""
        for last in range(len(items) - 1, 0, -1):
            other = self._multiplied_below(last + 1)
            items[last], items[other] = items[other], items[last]

    def perm(self, length: int) -> list[int]:
        """Return the numbers from 0 to `length` - 1 in the order of Go's `Perm`."""
        order = [0] * length
        for position in range(length):
            other = self.intn(position + 1)
            order[position] = order[other]
            order[other] = position
        return order

    def _below(self, bound: int, bits: int) -> int:
        if not 0 < bound < 1 << bits:
            raise InputError(f"got the bound {bound} of a random number, expected 1 to 2^{bits} - 1")
        # Above the last multiple of the bound, small remainders would come more often. A power of two leaves no rest.
        end = (1 << bits) - (1 << bits) % bound
        number = self.int63() >> (63 - bits)
        while number >= end:
            number = self.int63() >> (63 - bits)
        return number % bound

    def _multiplied_below(self, bound: int) -> int:
        """Return a number below `bound` (< 2^31) by Lemire's product, Go's unexported `int31n`."""
        product = (self.int63() >> 31) * bound
        # As in `_below`, some draws are refused to keep all results equally likely.
        refused_below = (1 << 32) % bound
        while product & _MASK32 < refused_below:
            product = (self.int63() >> 31) * bound
        return product >> 32


@lru_cache(maxsize=1)
def cooked() -> Array:
    """Return the 607 numbers that every seed is mixed with: [607] uint64.

    With a[j] the start in the order of time, a[j+607] = a[j] + a[j+334]. So a[N] = sum of c[j] * a[j], where c are the
    coefficients of x^N modulo x^607 - x^334 - 1, and squaring gets to N in 43 steps instead of 7.8e12.
    """
    slot = (_LENGTH - _TAP - 1 - np.arange(_LENGTH)) % _LENGTH  # in time, the register is filled downwards
    start = np.zeros(2 * _LENGTH - 1, dtype=np.uint64)
    start[:_LENGTH] = _seed_words(1, (20, 10, 0))[slot]
    for index in range(_LENGTH, len(start)):
        start[index] = start[index - _LENGTH] + start[index - _TAP]
    last_numbers = np.correlate(start, _power_of_x(_JUMP), mode="valid")
    cooked = np.empty(_LENGTH, dtype=np.uint64)
    cooked[(slot - _JUMP) % _LENGTH] = last_numbers
    cooked.setflags(write=False)
    return cooked


def _power_of_x(exponent: int) -> Array:
    """Return x^exponent modulo x^607 - x^334 - 1, lowest coefficient first, with coefficients modulo 2^64."""
    power = np.zeros(_LENGTH, dtype=np.uint64)
    power[0] = 1
    for bit in f"{exponent:b}":
        power = _reduce(np.convolve(power, power))
        if bit == "1":
            power = _reduce(np.concatenate(([np.uint64(0)], power)))
    return power


def _reduce(polynomial: Array) -> Array:
    while len(polynomial) > _LENGTH:
        high = polynomial[_LENGTH:]
        folded = np.zeros(max(_LENGTH, len(high) + _LENGTH - _TAP), dtype=np.uint64)
        folded[:_LENGTH] = polynomial[:_LENGTH]
        folded[: len(high)] += high
        folded[_LENGTH - _TAP : _LENGTH - _TAP + len(high)] += high
        polynomial = folded
    return polynomial


def _seed_words(seed: int, shifts: tuple[int, ...]) -> Array:
    """Return 607 words, each of three numbers of Lehmer's generator, shifted and mixed: [607] uint64."""
    number = seed or _SEED_FOR_ZERO
    for _ in range(_LEHMER_WARMUP):
        number = number * _LEHMER_FACTOR % _LEHMER_MODULUS
    words = np.empty(_LENGTH, dtype=np.uint64)
    for index in range(_LENGTH):
        word = 0
        for shift in shifts:
            number = number * _LEHMER_FACTOR % _LEHMER_MODULUS
            word ^= number << shift
        words[index] = word & _MASK64
    return words
