"""CSI drivers and attach limits: whether a node can attach the pod's volumes."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, Relation
from reprieve.model.csi_migration import Attachment
from reprieve.model.snapshot import NOWHERE
from reprieve.model.volumes import CsiFacts
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection

_UNLIMITED = -1
_UNUSED: Relation[str] = Relation.of(())


def limits(ask: Ask) -> Iterator[Rejection]:
    shape, storage = ask.shape, ask.view.storage
    if not shape.claims and not shape.inline_volumes:
        return
    wanted: dict[str, list[Attachment]] = {}
    for volume in storage.attachments_of(shape):
        wanted.setdefault(volume.driver, []).append(volume)
    facts = storage.csi(ask.view.nodes.names)
    for driver, volumes in wanted.items():
        spec = storage.drivers.get(driver)
        if spec is not None and spec.prevent_pod_scheduling_if_missing:
            # Not curable: evicting pods does not install a driver.
            yield Rejection(_without(facts, volumes), Reason(Code.DRIVER_MISSING, driver), curable=False)
        crowded = _crowded(ask, driver, [v.handle for v in volumes], _limits(facts, driver))
        if crowded.any():
            yield Rejection(crowded, Reason(Code.VOLUME_LIMIT, driver), curable=True)


def _without(facts: Column[CsiFacts], volumes: list[Attachment]) -> Mask:
    """Nodes without the driver. Migrated volumes need a CSINode: a node without one attaches them in-tree."""
    driver = volumes[0].driver
    all_migrated = all(volume.migrated for volume in volumes)
    return facts.where(lambda fact: not fact.has(driver) and (fact.known or not all_migrated))


def _limits(facts: Column[CsiFacts], driver: str) -> Ints:
    found = (fact.limit(driver) for fact in facts.things)
    by_code = np.array([_UNLIMITED if limit is None else limit for limit in found], np.int64)
    return by_code[facts.codes]


def _crowded(ask: Ask, driver: str, handles: list[str], limit: Ints) -> Mask:
    """Counting distinct volumes is expensive: it is done only where the count per pod exceeds the limit."""
    in_use: Relation[str] = ask.view.volumes_in_use.get(driver, _UNUSED)
    nodes = _homes(ask, in_use.rows)
    users = np.bincount(nodes[nodes >= 0], minlength=len(limit))
    suspects: Mask = (limit != _UNLIMITED) & (users + len(handles) > limit)
    if not suspects.any():
        return suspects
    pairs = np.flatnonzero((nodes >= 0) & suspects[nodes])
    nodes, codes = nodes[pairs], in_use.codes[pairs]
    attached = _distinct(nodes, codes, len(limit))
    # A volume that a pod on the node already uses is attached once.
    wanted = [in_use.index[handle] for handle in handles if handle in in_use.index]
    shared = np.isin(codes, wanted) & (in_use.rows[pairs] >= 0)
    new = len(handles) - _distinct(nodes[shared], codes[shared], len(limit))
    crowded: Mask = suspects & (new > 0) & (attached + new > limit)
    return crowded


def _homes(ask: Ask, rows: Ints) -> Ints:
    """The node of each user, or NOWHERE; the incoming pod itself does not count."""
    nodes = ~rows
    pods = rows >= 0
    nodes[pods] = ask.view.where[rows[pods]]
    nodes[rows == ask.pod] = NOWHERE
    return nodes


def _distinct(nodes: Ints, volumes: Ints, size: int) -> Ints:
    """The number of distinct volumes on each node. Most are on one node, so few have to be compared."""
    width = int(volumes.max(initial=0)) + 1
    last = np.zeros(width, np.int64)
    last[volumes] = np.arange(len(volumes))
    elsewhere = nodes != nodes[last[volumes]]
    further = np.unique(nodes[elsewhere] * width + volumes[elsewhere]) // width
    at_last = nodes[last[volumes] == np.arange(len(volumes))]
    return np.bincount(np.concatenate([at_last, further]), minlength=size)
