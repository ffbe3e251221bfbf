"""What protects pods from preemption, in the words of the rule that says so.

A rule of eligibility protects pods with a column: until when each may not be preempted. The words are asked
for only when something is told, about few pods.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reprieve.model.changes import Change
from reprieve.model.columns import Floats, Ints
from reprieve.model.formatting import clock_time, counted
from reprieve.model.scheduled_times import LONG_AGO, NEVER

NOT_PROTECTED = LONG_AGO
HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Protection:
    """What protects a pod: the reason, until when, from which priority on it does not, and what ends then.

    ``pods`` and ``several`` must not name objects of a namespace: owners of other namespaces read them.
    """

    code: str  # for programs: EvictionLimit
    by: tuple[str, ...]  # names of what protects: a priority class, a workload as Deployment/team-a/web
    from_priority: int  # demands of this priority or more need not wait
    until: float  # infinity: for as long as the pod runs, or until it is known when its time began
    reason: str  # "priority class low tolerates preemption"
    pods: str  # what follows "2 pods": "of class low"
    ends: str  # what ends at that moment: "a toleration of class low"
    several: str = ""  # "workloads that …" joins protections: "2 pods of 2 workloads that …"
    verbs: tuple[str, str] = ("is protected from", "are protected from")  # before "preemption by priority 9"
    source: str = ""  # the key of the configuration that asks for it: evictionLimit

    def sentence(self, now: float) -> str:
        far = self.from_priority > HIGHEST_PRIORITY
        demands = "no demand may" if far else f"demands of a priority below {self.from_priority} may not"
        until = "while it runs" if self.until == NEVER else f"until {clock_time(self.until, now)}"
        source = f" ({self.source})" if self.source else ""
        return f"{self.reason[0].upper()}{self.reason[1:]}: {demands} preempt it {until}{source}."


class Advice(NamedTuple):
    """How a pod would have been protected."""

    code: str
    text: str
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class ProtectedPods:
    """The pods that a rule protects from a demand."""

    until: Floats  # [pod] when the rule no longer protects it; NOT_PROTECTED: it does not
    told: Callable[[int], Protection]  # what protects this pod (row), of those that last longest
    # Codes of these pods (rows): those with equal codes are protected by the same, and one of them is asked
    # about. None: each is.
    alike: Callable[[Ints], Ints] | None = None
    ended_by: frozenset[Change] = frozenset()  # the changes, besides time, that may end it

    def told_of(self, rows: Ints) -> Iterator["Told"]:
        """Of protected pods, by what protects them; the one that ends first comes first."""
        codes = rows if self.alike is None else self.alike(rows)
        _, one, which, pods = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        first = np.full(len(one), NEVER)
        np.minimum.at(first, which, self.until[rows])
        found: dict[tuple[str, ...], Told] = {}
        for row, count, end in zip(rows[one].tolist(), pods.tolist(), first.tolist(), strict=True):
            protection = self.told(row)
            known = found.get(protection.by, Told(protection, 0, NEVER))
            found[protection.by] = Told(known.protection, known.pods + count, min(known.first, end))
        yield from sorted(found.values(), key=lambda told: (told.first, told.protection.by))


class Told(NamedTuple):
    """How many pods something protects, and when it no longer protects the first of them."""

    protection: Protection
    pods: int
    first: float

    @property
    def text(self) -> str:
        return f"{counted(self.pods, 'pod')} {self.protection.pods}"
