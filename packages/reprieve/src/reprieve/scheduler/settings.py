"""What assembly hands to the scheduler: profiles and policies, times, and choices as functions.

A feature gate is never a value here: the function or the record that it stands for is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reprieve.model.groups import Groups
from reprieve.model.objects import Pod
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.demand_key import DemandKey, with_its_tree
from reprieve.scheduler.demands.gang_strategy import MIN_COUNT, GangStrategy
from reprieve.scheduler.demands.group_rules import DEFAULT_RULES, GroupRules
from reprieve.scheduler.plans.toleration_rules import HONOURED, TolerationRules
from reprieve.scheduler.queue.queue import DEFAULT_BACKOFF
from reprieve.supervision.backoff import Backoff

SCHEDULER_NAME = "reprieve"


@dataclass(frozen=True, slots=True)
class Settings:
    profiles: Mapping[str, Profile] = field(default_factory=lambda: {SCHEDULER_NAME: DEFAULT_PROFILE})
    backoff: Backoff = DEFAULT_BACKOFF
    volume_seconds: float = 600.0  # how long volumes may take before the pod is tried elsewhere
    # By scheduler name; for pods of a scheduler without an entry nothing is evicted.
    policies: Mapping[str, Policy] = field(default_factory=lambda: {SCHEDULER_NAME: REPRIEVE})
    demand_of_pod: Callable[[Pod, Groups], DemandKey] = with_its_tree  # which demand a waiting pod is part of
    gangs: GangStrategy = MIN_COUNT
    group_rules: GroupRules = DEFAULT_RULES
    tolerations: TolerationRules = HONOURED
    longest_grace: int | None = None  # seconds that a victim is given to stop at most; None: its own
    stuck_victim_seconds: float = 300.0  # after which a victim that has not left is not counted on
    # Seconds that members of a gang that grow wait for each other; None: each is planned by itself.
    resize_window: float | None = 1.0
    unseen: frozenset[type] = frozenset()  # kinds of objects that are not looked at

    @property
    def longest_eviction_window(self) -> float:
        """For how long evictions matter to the eviction limit of any policy, in seconds; zero: not at all."""
        limits = (policy.eviction_limit for policy in self.policies.values())
        return max((limit.window for limit in limits if limit is not None), default=0.0)
