"""How many waiting pods does each plugin of kube-scheduler reject?

Reprieve has no plugins: each reason stands for the plugin that gives it there. Knows the last decision about
each demand, and nothing of when it ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prometheus_client import Gauge

from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.decision import Decision, Outcome

PLUGINS: Mapping[Code, str] = {
    Code.NODE_NAME: "NodeName",
    Code.NODE_UNSCHEDULABLE: "NodeUnschedulable",
    Code.UNTOLERATED_TAINT: "TaintToleration",
    Code.NODE_AFFINITY: "NodeAffinity",
    Code.NODE_FEATURE: "NodeDeclaredFeatures",
    Code.HOST_PORT: "NodePorts",
    Code.INSUFFICIENT_RESOURCE: "NodeResourcesFit",
    Code.EXCEEDS_CAPACITY: "NodeResourcesFit",
    Code.TOO_MANY_PODS: "NodeResourcesFit",
    Code.POD_AFFINITY: "InterPodAffinity",
    Code.POD_ANTI_AFFINITY: "InterPodAffinity",
    Code.EXISTING_ANTI_AFFINITY: "InterPodAffinity",
    Code.SPREAD_LABEL_MISSING: "PodTopologySpread",
    Code.SPREAD_SKEW: "PodTopologySpread",
    Code.CLAIM_NOT_FOUND: "VolumeBinding",
    Code.CLAIM_LOST: "VolumeBinding",
    Code.CLAIM_DELETED: "VolumeBinding",
    Code.CLAIM_UNBOUND: "VolumeBinding",
    Code.CLAIM_OF_ANOTHER: "VolumeBinding",
    Code.VOLUME_NOT_FOUND: "VolumeBinding",
    Code.VOLUME_NODE_AFFINITY: "VolumeBinding",
    Code.VOLUME_ZONE: "VolumeZone",
    Code.VOLUME_LIMIT: "NodeVolumeLimits",
    Code.DRIVER_MISSING: "NodeVolumeLimits",
    Code.NO_VOLUME_TO_BIND: "VolumeBinding",
    Code.STORAGE_CAPACITY: "VolumeBinding",
    Code.DISK_CONFLICT: "VolumeRestrictions",
    Code.CLAIM_IN_USE: "VolumeRestrictions",
    Code.OUTSIDE_DOMAIN: "TopologyPlacementGenerator",
    Code.DOMAIN_LABEL_MISSING: "TopologyPlacementGenerator",
}


@dataclass(frozen=True, slots=True)
class _Rejected:
    plugins: frozenset[str]
    profile: str
    pods: int


class Rejections:
    def __init__(self, gauge: Callable[..., Gauge]) -> None:
        self._gauge = gauge  # by plugin and profile
        self._last: dict[tuple[str, str, str], _Rejected] = {}  # by kind, namespace and name

    def decided(self, decision: Decision, profile: str) -> None:
        """The last decision about a demand replaces the one before."""
        demand = decision.demand
        key = (demand.kind, demand.namespace, demand.name)
        self.end(*key)
        if decision.outcome is Outcome.UNSCHEDULABLE and decision.findings:
            plugins = frozenset(PLUGINS[finding.reason.code] for finding in decision.findings)
            rejected = self._last[key] = _Rejected(plugins, profile, decision.pods)
            for plugin in rejected.plugins:
                self._gauge(plugin, profile).inc(rejected.pods)

    def end(self, kind: str, namespace: str, name: str) -> None:
        """The demand is placed, gone, or decided again."""
        rejected = self._last.pop((kind, namespace, name), None)
        if rejected is not None:
            for plugin in rejected.plugins:
                self._gauge(plugin, rejected.profile).dec(rejected.pods)
