"""Which fields of the API are there: those behind a feature that is off are as good as unknown.

Such a field is dropped from what a client sends, unless the object that is stored uses it already.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Features:
    """What the API server serves. The names are those of the gates."""

    generic_workload: bool = True
    workload_aware_preemption: bool = True
    pod_group_preemption_policy: bool = False
    topology_aware_workload_scheduling: bool = False
    composite_pod_group: bool = False
    in_place_pod_vertical_scaling_scheduler_preemption: bool = False


ALL_FEATURES = Features(
    pod_group_preemption_policy=True,
    topology_aware_workload_scheduling=True,
    composite_pod_group=True,
    in_place_pod_vertical_scaling_scheduler_preemption=True,
)
