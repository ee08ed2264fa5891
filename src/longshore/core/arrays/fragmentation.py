"""GPU fragmentation: how much of the free GPU share the typical pods could not use.

FGD (USENIX ATC'23). The fragment of node n for a typical pod m is all that is free on the node's GPUs if m wants no
GPU, may not use the node's GPU model, or does not fit (too few GPUs with enough left, or too little CPU); if m fits, it
is what is free on the GPUs that are too full for it. F_n = Σ_m share_m · fragment(n, m), in milli-GPU. Memory does not
count. FGD asks whether one such pod still fits; the potential asks how many do, and what they would use:
P_n = Σ_m share_m · min(pods that fit on the GPUs, pods that fit on the CPU) · milli of such a pod.

Both are sums over devices of what each device alone offers to each kind of pod. So what a placement changes is found
from the devices that it takes, without counting the others again. The heuristics `fgd` and `fgd-u`, the objective
`fragmentation` and several features read this file.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from longshore.core.arrays import gpu
from longshore.core.arrays.cluster_arrays import ClusterArrays
from longshore.core.arrays.gpu import Take
from longshore.core.arrays.ops import Array, namespace
from longshore.core.arrays.power import cpu_millis_left

_ANY_NUMBER = 1e6
"""Pods that ask for no CPU fit as often as the GPUs say."""


class Offer(NamedTuple):
    """What the GPUs of every node offer to every typical kind [..., kinds, nodes]; sums over devices.

    They are whole numbers far below 2^24, which float32 holds exactly.
    """

    num_fitting: Array  # devices with enough left
    too_full: Array  # milli left on devices with too little left
    num_pods: Array  # how many shares could be cut from the devices


def offers(arrays: ClusterArrays, free_milli: Array = None) -> Offer:
    """Return what is offered now, or with `free_milli` [..., nodes, devices] left on the devices."""
    xp = namespace(arrays.state.gpu_used)
    free = gpu.free_milli(arrays) if free_milli is None else free_milli
    if xp is not np:
        # As one sum: XLA would count a sum of eight terms again for every pod that reads it.
        return Offer(*[one.sum(axis=0) for one in _offer_of(arrays, xp.moveaxis(free, -1, 0))])
    total = Offer(*[np.zeros((arrays.tables.typical_gpu_milli.shape[0], 1))] * 3)
    for device in range(free.shape[-1]):
        one = _offer_of(arrays, free[..., device])
        total = Offer(*[before + more for before, more in zip(total, one, strict=True)])
    return total


def offers_after(arrays: ClusterArrays, before: Offer, take: Take) -> Offer:
    """Return what is offered after a pod took devices that are all alike."""
    return Offer(
        *[
            whole + take.count.astype(whole.dtype) * (new - old)
            for whole, old, new in zip(
                before, _offer_of(arrays, take.left), _offer_of(arrays, take.left_after), strict=True
            )
        ]
    )


def _offer_of(arrays: ClusterArrays, left: Array) -> Offer:
    """Return what one device with `left` [..., nodes] milli offers."""
    xp = namespace(left)
    milli = arrays.tables.typical_gpu_milli[:, None].astype(xp.float32)
    left = xp.maximum(left, 0).astype(xp.float32)[..., None, :]
    fits = left >= milli
    return Offer(fits.astype(xp.float32), xp.where(fits, xp.float32(0), left), _whole_times(left, milli))


def fragment(arrays: ClusterArrays, offer: Offer, idle_milli: Array, cpu_millis: Array) -> Array:
    """Return F_n [..., nodes] in milli-GPU; 0 on padding rows.

    Args:
        arrays: the cluster with its typical pods.
        offer: what the GPUs offer.
        idle_milli: what is left of all GPUs of a node together [..., nodes].
        cpu_millis: what is left of its CPU [..., nodes].
    """
    xp, tables = namespace(arrays.state.gpu_used), arrays.tables
    hosts = offer.num_fitting >= tables.typical_gpu_count[:, None]
    hosts = hosts & (cpu_millis[..., None, :] >= tables.typical_cpu_millis[:, None])
    unusable = xp.where(hosts, offer.too_full, idle_milli[..., None, :])
    return _over_kinds(unusable, tables.typical_share) + idle_milli * tables.typical_rest


def fragment_after(arrays: ClusterArrays, before: Offer, take: Take, idle_milli: Array, cpu_millis: Array) -> Array:
    """Return F_n [nodes] with a pod that took devices; `idle_milli` and `cpu_millis` are what it leaves."""
    xp = namespace(take.left)
    if xp is np or arrays.tables.typical_share.shape[1] > 1:
        return fragment(arrays, offers_after(arrays, before, take), idle_milli, cpu_millis)
    # Two sums and a product: a sum alone XLA would count again for everyone who reads it.
    sums = [idle_milli * arrays.tables.typical_rest, idle_milli * 0.0]
    for number, (of_kind, offer) in enumerate(_kind_by_kind(arrays, before)):
        of_kind_after = offers_after(of_kind, offer, take)
        sums[number % 2] = sums[number % 2] + fragment(of_kind, of_kind_after, idle_milli, cpu_millis)
    return xp.stack(sums, axis=-1) @ xp.ones(2)


def potential(arrays: ClusterArrays, offer: Offer, cpu_millis: Array) -> Array:
    """Return P_n [..., nodes] in milli-GPU: what typical pods could use if pods of one kind came, over the kinds."""
    xp, tables = namespace(arrays.state.gpu_used), arrays.tables
    cpu = tables.typical_cpu_millis[:, None].astype(xp.float32)
    count = tables.typical_gpu_count[:, None].astype(xp.float32)
    cpu_left = xp.maximum(cpu_millis, 0).astype(xp.float32)[..., None, :]
    by_cpu = xp.where(cpu > 0, _whole_times(cpu_left, cpu), xp.float32(_ANY_NUMBER))
    num_pods = xp.minimum(_whole_times(offer.num_pods, count), by_cpu)
    milli = (tables.typical_gpu_milli * tables.typical_gpu_count)[:, None]
    return _over_kinds(num_pods, milli * tables.typical_share)


def potential_after(arrays: ClusterArrays, before: Offer, take: Take, cpu_millis: Array) -> Array:
    """Return P_n [nodes] with a pod that took devices; `cpu_millis` is what it leaves."""
    return potential(arrays, offers_after(arrays, before, take), cpu_millis)


def _kind_by_kind(arrays: ClusterArrays, offer: Offer) -> Iterator[tuple[ClusterArrays, Offer]]:
    """Yield the cluster with one typical kind at a time, and none of the rest."""
    tables = arrays.tables
    for kind in range(tables.typical_share.shape[0]):
        only = slice(kind, kind + 1)
        alone = tables._replace(
            typical_cpu_millis=tables.typical_cpu_millis[only],
            typical_gpu_milli=tables.typical_gpu_milli[only],
            typical_gpu_count=tables.typical_gpu_count[only],
            typical_share=tables.typical_share[only],
            typical_rest=tables.typical_rest * 0,
        )
        yield arrays._replace(tables=alone), Offer(*[part[only] for part in offer])


def _over_kinds(values: Array, weights: Array) -> Array:
    """Add values [..., kinds, nodes] up over the kinds, each times its weight [kinds, nodes]."""
    if weights.shape[1] == 1 and values.shape[-1] > 1 and weights.shape[0] > 1:
        # Many pods on one node: as a product, which XLA computes many values at a time; sums in a fusion it does not.
        return namespace(values).swapaxes(values, -1, -2) @ weights[:, 0]
    return (values * weights).sum(axis=-2)


def _whole_times(amount: Array, part: Array) -> Array:
    """Return how often a whole number goes into another, as a float.

    Half a unit keeps the quotient away from whole numbers: XLA may multiply by a rounded reciprocal, not divide.
    Kinds that only fill a table up ask for 0, and have no share.
    """
    xp = namespace(amount)
    return xp.floor((amount + xp.float32(0.5)) / xp.maximum(part, 1))


def node_fragment(arrays: ClusterArrays, free_milli: Array = None, free_cpu_millis: Array = None) -> Array:
    """Return F_n of every node [..., nodes], as the cluster is, or with so much left on its devices and of its CPU."""
    xp = namespace(arrays.state.gpu_used)
    free = xp.maximum(gpu.free_milli(arrays) if free_milli is None else free_milli, 0)
    cpu = cpu_millis_left(arrays) if free_cpu_millis is None else free_cpu_millis
    return fragment(arrays, offers(arrays, free), free.sum(axis=-1), cpu)


def cluster_fragment(arrays: ClusterArrays) -> Array:
    """Return the expected milli-GPU of the whole cluster that are free and of no use."""
    return node_fragment(arrays).sum()
