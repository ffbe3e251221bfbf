"""Groups, budgets and their pods, and a scheduler that may evict, for the cases in this directory."""

from typing import Any

import msgspec
from tests.unit.scheduler.making import a_pod
from tests.unit.scheduler.stage import Stage

from reprieve.model.events import Seen, Synced
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod, PodDisruptionBudget, PodGroup
from reprieve.preemption.policy import Policy
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings


def a_group(name: str = "g", priority: int = 0, min_count: int = 0, **spec: Any) -> PodGroup:
    """A gang if it has a least number of pods."""
    gang: Json = {"gang": {"minCount": min_count}} if min_count else {}
    conditions = spec.pop("conditions", [])
    body = {
        "metadata": _metadata(name),
        "spec": {"priority": priority, **gang, **spec},
        "status": {"conditions": conditions},
    }
    return msgspec.convert(body, PodGroup)


def a_member(name: str, group: str = "g", **fields: Any) -> Pod:
    return a_pod(name, schedulingGroup={"podGroupName": group}, **fields)


def a_stranger(name: str, **fields: Any) -> Pod:
    """A pod of another namespace."""
    pod = a_pod(name, **fields)
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, namespace="other"))


def a_budget(name: str, allowed: int = 0, **labels: str) -> PodDisruptionBudget:
    body = {
        "metadata": _metadata(name),
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(body, PodDisruptionBudget)


def _metadata(name: str) -> Json:
    return {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "100"}


def preempting(*things: KubernetesObject, policy: Policy | None = None, **settings: Any) -> Stage:
    """A stage on which all this is shown at once."""
    if policy is not None:
        settings["policies"] = {SCHEDULER_NAME: policy}
    return Stage(Scheduler(Settings(**settings))).happens(*map(Seen, things), Synced())


def only_decision(*things: KubernetesObject, policy: Policy | None = None, **settings: Any) -> Decision:
    (decision,) = preempting(*things, policy=policy, **settings).decisions
    return decision
