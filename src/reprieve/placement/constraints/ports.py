"""Free host ports: by protocol, number and address."""

from collections.abc import Iterator

import numpy as np

from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def host_ports(ask: Ask) -> Iterator[Rejection]:
    for wanted in ask.shape.ports:
        holders = ask.view.pods.holders().of_port(wanted)
        nodes = ask.view.where[holders[holders != ask.pod]]
        if (nodes := nodes[nodes >= 0]).size:
            taken = np.zeros(len(ask.view.nodes), np.bool_)
            taken[nodes] = True
            detail = f"{wanted.port}/{wanted.protocol}"
            yield Rejection(taken, Reason(Code.HOST_PORT, detail), curable=True)
