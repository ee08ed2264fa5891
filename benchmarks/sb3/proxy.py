"""A Gymnasium environment that another process plays: `serve.py` beside this file, run by longshore's own Python.

Debian's torch was built for NumPy 1, JAX needs NumPy 2: one process cannot hold both (torch of PyPI can). Needs only
Gymnasium and NumPy.
"""

import json
import struct
import subprocess
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

REQUEST, ANSWER = struct.Struct("<cq"), struct.Struct("<d?")


class PlacementProxy(gymnasium.Env):  # type: ignore[type-arg]
    """`longshore/Placement-v0`, elsewhere; arguments are those of that environment."""

    def __init__(self, python: str, **arguments: Any) -> None:
        script = Path(__file__).with_name("serve.py")
        self._process = subprocess.Popen([python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(json.dumps(arguments).encode() + b"\n")
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        self._shape, self._actions = tuple(told["shape"]), told["actions"]
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, self._shape, np.float32)
        self.action_space = gymnasium.spaces.Discrete(self._actions)
        self._mask = np.ones(self._actions, bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the trace of a seed; `options` are not used."""
        super().reset(seed=seed)
        self._send(REQUEST.pack(b"R", -1 if seed is None else seed))
        rows, _, _ = self._receive()
        return rows, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Place the pod on a node, or defer it."""
        self._send(REQUEST.pack(b"S", int(action)))
        rows, reward, is_over = self._receive()
        return rows, reward, is_over, False, {}

    def action_masks(self) -> Any:
        """Return which actions are allowed now, as sb3-contrib asks for it."""
        return self._mask.copy()

    def close(self) -> None:
        """End the other process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(timeout=30)

    def _send(self, request: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(request)
        self._process.stdin.flush()

    def _receive(self) -> tuple[Any, float, bool]:
        assert self._process.stdout is not None
        size = ANSWER.size + self._actions + 4 * int(np.prod(self._shape))
        answer = self._process.stdout.read(size)
        if len(answer) < size:
            raise RuntimeError("the process that plays the environment has ended; what it said is above")
        reward, is_over = ANSWER.unpack_from(answer)
        self._mask = np.frombuffer(answer, np.uint8, self._actions, ANSWER.size).astype(bool)
        rows = np.frombuffer(answer, np.float32, offset=ANSWER.size + self._actions).reshape(self._shape).copy()
        return rows, reward, is_over
