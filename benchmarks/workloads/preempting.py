"""How long does a decision take that must evict, for a pod or a gang in a cluster that is full?"""

from typing import Any

from benchmarks.driving import Played
from benchmarks.product import find
from benchmarks.timing import Run
from benchmarks.workloads.deciding import decisions
from benchmarks.worlds.full import cluster, newcomers


def measure(nodes: int, pods: int, variant: str = "", policy: str = "") -> Run:
    played = Played(cluster(nodes, variant), _settings(policy) if policy else None)
    return decisions(played, lambda number: newcomers(f"high-{number}", pods, variant), "Nominate")


def _settings(policy: str) -> Any:
    """As a configuration says it, which has the same words in every revision."""
    args = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "ReprieveArgs", "policy": policy}
    profile = {"schedulerName": "reprieve", "pluginConfig": [{"name": "Reprieve", "args": args}]}
    written = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    return find("settings_of")(find("parse_configuration")(written))
