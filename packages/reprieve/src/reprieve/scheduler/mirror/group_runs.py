"""When did the present run of a group start?

A run starts when as many pods of the group are bound as it needs, after none was; it ends when none is left.
Pods that join or leave in between do not move the start. A group that ran before this process looked at it
keeps the start that its condition says, or else counts from the earliest of its pods. Knows nothing of how
the start is written.
"""

import math
from collections.abc import Sequence

from reprieve.model.conditions import NEVER, run_started_at, scheduled_at
from reprieve.model.effects import Target
from reprieve.model.objects import Pod, PodGroup
from reprieve.scheduler.targets import group_target


class GroupRuns:
    def __init__(self) -> None:
        self._starts: dict[Target, float] = {}
        self._without: set[Target] = set()  # groups of which no pod was bound at the last look

    def lost(self, group: Target) -> None:
        self._starts.pop(group, None)
        self._without.discard(group)

    def start_of(self, group: PodGroup, running: Sequence[Pod], wall: float) -> float | None:
        """The start of the present run; None if there is none, or not yet.

        ``running``: the pods of the group that are bound and not being deleted. ``wall``: the time of day.
        """
        target = group_target(group)
        if not running:
            self._starts.pop(target, None)
            self._without.add(target)
            return None
        if target not in self._starts:
            start = _fresh(group, running, wall) if target in self._without else _known(group, running, wall)
            if start is None:
                return None
            self._starts[target] = start
            self._without.discard(target)
        return self._starts[target]


def _fresh(group: PodGroup, running: Sequence[Pod], wall: float) -> float | None:
    """The moment at which the last pod that it needs was bound; None while some are missing."""
    if len(running) < (group.spec.gang.min_count if group.spec.gang is not None else 1):
        return None
    latest = max(map(scheduled_at, running))
    return latest if math.isfinite(latest) else wall  # the sight of a bind may come before the condition


def _known(group: PodGroup, running: Sequence[Pod], wall: float) -> float:
    """The start of a run that was going on at the first look, whether or not all of its pods are left."""
    written = run_started_at(group)
    earliest = min(map(scheduled_at, running)) if written == NEVER else written
    return max(0.0, earliest) if earliest < NEVER else wall
