"""Small clusters and decisions about which the cases of why ask."""

import json
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.inquiry.asked_demands import WhatIfQuestion
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.inquiry.object_names import ObjectName
from reprieve.inquiry.trials import Asking
from reprieve.inquiry.whatif import whatif
from reprieve.inquiry.why import Evidence, WhyReport
from reprieve.inquiry.why_answers import why_object
from reprieve.model.json import Json
from reprieve.runtime.recent_decisions import KeptDecision, PlanCourse
from reprieve.scheduler.plans.plan_records import EndReason
from tests.scenarios.making import moment, world_objects
from tests.scenarios.reading import WorldLine

NOW = moment(60)


def cluster_of(world: WorldLine, more: Iterable[Json] = ()) -> DecodedCluster:
    bodies = [*world_objects(world, world.groups), *more]
    objects = [ApiObject(b["kind"], b["apiVersion"], json.dumps(b).encode()) for b in bodies]
    return decoded(ClusterObjects(tuple(objects), NOW))


def asking(cluster: DecodedCluster, policy: str = "") -> Asking:
    chosen = inquiry_settings(PolicyChoice(policy), cluster)
    return Asking(chosen.settings, chosen.policy)


def decided(
    world: WorldLine, demand: str, kind: str = "Pod", at: float = NOW, policy: str = ""
) -> KeptDecision:
    """What the scheduler decides for a pod or a group that waits, as it would remember it."""
    cluster = cluster_of(world)
    settings = asking(cluster, policy).settings
    question = WhatIfQuestion(cluster, settings, existing=(ObjectName("default", demand, kind),))
    (report,) = whatif(question, at).reports
    decision = replace(report.decisions[0], id="d-0123456789", at=at)
    victims = tuple(victim.pod.uid for victim in report.victims)
    course = PlanCourse("ready", EndReason.ROOM_USED, at + 30, used=victims) if victims else None
    return KeptDecision(decision, course)


def why(
    name: str,
    world: WorldLine,
    decisions: Sequence[KeptDecision] = (),
    more: Iterable[Json] = (),
    policy: str = "",
) -> WhyReport:
    kind, _, rest = name.partition("/")
    cluster = cluster_of(world, more)
    evidence = Evidence(cluster, tuple(decisions), NOW)
    kinds = {"pod": "Pod", "podgroup": "PodGroup", "compositepodgroup": "CompositePodGroup"}
    return why_object(ObjectName("default", rest, kinds[kind]), evidence, asking(cluster, policy))


def an_event(name: str, reason: str, note: str, minutes: float, uid: str = "", **more: object) -> Json:
    regarding = {"kind": "Pod", "namespace": "default", "name": name, **({"uid": uid} if uid else {})}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason}.{minutes:g}", "namespace": "default"},
        "involvedObject": regarding,
        "reason": reason,
        "message": note,
        "lastTimestamp": None,
        "eventTime": f"2026-01-02T00:{int(minutes):02}:00.000000Z",
        **more,
    }
