"""Which pods hold a host port or a disk that a pod wants: found by its key, without reading all that is held.

Where the pods run is not known here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, Relation
from reprieve.model.shape import ANY_ADDRESS, HostPort, InlineDisk

PortNumber = tuple[str, int]  # protocol, port
DiskId = tuple[str, str]  # kind, identifier


@dataclass(frozen=True, slots=True, eq=False)
class RowsByCode:
    """The rows of a relation, sorted by code: ``rows[starts[code]:starts[code + 1]]``."""

    rows: Ints
    starts: Ints

    def with_any(self, codes: Iterable[int]) -> Ints:
        parts = [self.rows[self.starts[code] : self.starts[code + 1]] for code in codes]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Holders:
    ports: Relation[HostPort]
    disks: Relation[InlineDisk]
    by_number: dict[PortNumber, list[int]]  # codes of ports
    by_id: dict[DiskId, list[int]]  # codes of disks
    rows_of_ports: RowsByCode
    rows_of_disks: RowsByCode

    def of_port(self, wanted: HostPort) -> Ints:
        """The pods with a port that conflicts with this one: of the same address, or if one has them all."""
        if wanted.address == ANY_ADDRESS:
            return self.rows_of_ports.with_any(self.by_number.get((wanted.protocol, wanted.port), ()))
        conflicting = (wanted, HostPort(wanted.protocol, ANY_ADDRESS, wanted.port))
        codes = (self.ports.index.get(port) for port in conflicting)
        return self.rows_of_ports.with_any(code for code in codes if code is not None)

    def of_disk(self, wanted: InlineDisk) -> Ints:
        """The pods with a disk that cannot be shared with this one."""
        near = {code for name in wanted.ids for code in self.by_id.get((wanted.kind, name), ())}
        codes = (code for code in sorted(near) if wanted.conflicts_with(self.disks.things[code]))
        return self.rows_of_disks.with_any(codes)


def holders(ports: Relation[HostPort], disks: Relation[InlineDisk]) -> Holders:
    by_number: dict[PortNumber, list[int]] = {}
    for code, port in enumerate(ports.things):
        by_number.setdefault((port.protocol, port.port), []).append(code)
    by_id: dict[DiskId, list[int]] = {}
    for code, disk in enumerate(disks.things):
        for name in disk.ids:
            by_id.setdefault((disk.kind, name), []).append(code)
    return Holders(ports, disks, by_number, by_id, _rows_by_code(ports), _rows_by_code(disks))


def _rows_by_code(relation: Relation[HostPort] | Relation[InlineDisk]) -> RowsByCode:
    order = np.argsort(relation.codes, kind="stable")
    starts = np.searchsorted(relation.codes[order], np.arange(len(relation.things) + 1))
    return RowsByCode(relation.rows[order], starts)
