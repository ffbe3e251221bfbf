"""What the scheduler must be told: whose pods it schedules, who gives way to them, how patient it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.policy import REPRIEVE, Policy
from reprieve.scheduler.demands import NO_SPECIAL_RULES, GroupRules
from reprieve.scheduler.planning import RoomFor
from reprieve.scheduler.queue import DEFAULT_BACKOFF, Backoff

SCHEDULER_NAME = "reprieve"


@dataclass(frozen=True, slots=True)
class Settings:
    profiles: Mapping[str, Profile] = field(default_factory=lambda: {SCHEDULER_NAME: DEFAULT_PROFILE})
    backoff: Backoff = DEFAULT_BACKOFF
    volume_seconds: float = 600.0  # how long volumes may take before the pod is tried elsewhere
    # Who gives way to whose pods; a scheduler without an entry evicts nobody.
    policies: Mapping[str, Policy] = field(default_factory=lambda: {SCHEDULER_NAME: REPRIEVE})
    groups: bool = True  # pods of a group ask together
    whole_gangs: bool = False  # room is made for all pods of a gang, not just for as many as it needs
    gangs_preempt: bool = True  # a gang makes room for itself as one; otherwise each pod of it does
    group_rules: GroupRules = NO_SPECIAL_RULES
    topology: bool = True  # groups keep to a topology domain if they say so
    tolerations: bool = True  # what priority classes say of tolerations is looked at
    stuck_victim_seconds: float = 300.0  # after which nobody counts on who should be gone
    unseen: frozenset[type] = frozenset()  # kinds of objects that are not looked at

    @property
    def room_for(self) -> RoomFor:
        if not self.gangs_preempt:
            return RoomFor.ONE
        return RoomFor.ALL if self.whole_gangs else RoomFor.NEEDED
