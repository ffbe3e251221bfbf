"""Which pods hold a host port: found by protocol, number and address, without reading all ports.

Where the pods run is not known here.
"""

from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, Relation
from reprieve.model.shape import ANY_ADDRESS, HostPort


@dataclass(frozen=True, slots=True, eq=False)
class HeldPorts:
    """The pods of ``codes[i]`` are ``rows[starts[code]:starts[code + 1]]``."""

    codes: dict[HostPort, int]
    by_number: dict[tuple[str, int], list[int]]
    rows: Ints
    starts: Ints

    def holders(self, wanted: HostPort) -> Ints:
        """The pods with a port that conflicts with this one."""
        if wanted.address == ANY_ADDRESS:
            codes = self.by_number.get((wanted.protocol, wanted.port), [])
        else:
            conflicting = (wanted, HostPort(wanted.protocol, ANY_ADDRESS, wanted.port))
            codes = [code for port in conflicting if (code := self.codes.get(port)) is not None]
        if not codes:
            return np.zeros(0, np.int64)
        return np.concatenate([self.rows[self.starts[code] : self.starts[code + 1]] for code in codes])


def held_ports(ports: Relation[HostPort]) -> HeldPorts:
    by_number: dict[tuple[str, int], list[int]] = {}
    for code, port in enumerate(ports.things):
        by_number.setdefault((port.protocol, port.port), []).append(code)
    order = np.argsort(ports.codes, kind="stable")
    starts = np.searchsorted(ports.codes[order], np.arange(len(ports.things) + 1))
    return HeldPorts(ports.index, by_number, ports.rows[order], starts)
