"""The store checks no schema: every component must survive malformed objects."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.minicluster.scene import Scene, node, pod, pod_key, template

from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Bind, BindVolume, SelectNode, SetCondition, Target
from reprieve.model.events import Gone, Seen, Unread
from reprieve.model.json import Json
from reprieve_minicluster.cluster import WATCHED, sight_of
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import Informer
from reprieve_minicluster.store.scheduler_calls import call

JUNK: list[object] = [None, 7, -1, 1.5, True, "", "junk", "2026-99-99", [], ["x"], [7], [{}], {}, {"x": 7}]


def whole() -> list[Json]:
    """One well-formed object of each kind that a component reads."""
    guarded = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}
    ended = {"type": "Ready", "status": "True"}
    meta = {"labels": {"app": "web"}, "annotations": {"reprieve.dev/run-seconds": "2"}}
    had = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    main = {"name": "main", "restartCount": 0, "state": {"running": {}}, "resources": had}
    status = {
        "phase": "Running",
        "startTime": "2026-01-01T12:00:00Z",
        "conditions": [ended, resizing("PodResizePending"), resizing("PodResizeInProgress")],
        "containerStatuses": [{**main, "allocatedResources": {"cpu": "2"}}],
        "allocatedResources": {"cpu": "2"},
        "resources": had,
        "nodeAllocatableResourceClaimStatuses": [{"mapping": [{"name": "cpu", "quantity": "1"}]}],
    }
    asked = {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "s"}
    bodies = {
        "Node": {**node("n1"), "spec": {"podPreemptionPolicy": {"disableResizePreemption": ["x"]}}},
        "StorageClass": {"provisioner": "csi.example.com"},
        "CSINode": {"spec": {"drivers": [{"name": "csi.example.com", "topologyKeys": ["zone"]}]}},
        "PersistentVolume": {"spec": {"capacity": {"storage": "1Gi"}, "claimRef": {"name": "x"}}},
        "PersistentVolumeClaim": {"spec": asked},
        "Deployment": {"spec": {"replicas": 1, "strategy": {"rollingUpdate": {"maxSurge": 1}}, **guarded}},
        "ReplicaSet": {"spec": {"replicas": 2, **guarded}},
        "Job": {"spec": {"completions": 1, "parallelism": 1, "template": template()}},
        "PodDisruptionBudget": {"spec": {"minAvailable": "50%", **guarded}},
        "Pod": {**resizable("x"), "status": status},
    }
    made = []
    for kind, body in bodies.items():
        name = "n1" if kind in ("Node", "CSINode") else "x"
        made.append({**body, "kind": kind, "metadata": {**meta, "name": name}})
    return made


def resizing(kind: str) -> Json:
    times = {"lastTransitionTime": "2026-01-01T12:00:00Z", "observedGeneration": 1}
    return {"type": kind, "status": "True", "reason": "Deferred", **times}


def resizable(name: str) -> Json:
    body = pod(name, on="n1")
    body["spec"]["containers"][0]["resizePolicy"] = [
        {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
    ]
    body["spec"] |= {"priority": 2_000_000_000, "resources": {"requests": {"cpu": "1"}}}
    return body


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to each part of a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for name, part in inner for found in paths(part, (*path, name)))]


def replaced(value: Any, path: tuple[Any, ...], junk: object) -> Any:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], junk)
    return copy


@st.composite
def spoiled(draw: st.DrawFn) -> list[Json]:
    """The same, with one to three places in them replaced by something else."""
    bodies = whole()
    for _ in range(draw(st.integers(1, 3))):
        i = draw(st.integers(0, len(bodies) - 1))
        ways = [p for p in paths(bodies[i]) if p and p[0] in ("metadata", "spec", "status")]
        bodies[i] = replaced(bodies[i], draw(st.sampled_from(ways)), draw(st.sampled_from(JUNK)))
    return bodies


def put(scene: Scene, bodies: list[Json]) -> None:
    for body in bodies:
        try:
            scene.add(body)
        except ApiError as refusal:
            assert refusal.status in (409, 422)


def everything_seen(scene: Scene) -> list[ClusterEvent]:
    return [sight_of(change) for change in Informer(scene.store, WATCHED).poll()]


def disturb(scene: Scene) -> None:
    """Every call, on whatever there is."""
    target = Target("Pod", "default", "x", "")
    claim = Target("PersistentVolumeClaim", "default", "x", "")
    volume = Target("PersistentVolume", "", "x", "")
    for effect in (
        Bind(target, "n1"),
        SetCondition(target, "Ready", "False", "", ""),
        BindVolume(volume, claim),
        SelectNode(claim, "n1"),
    ):
        try:
            call(scene.store, effect, scene.clock.now)
        except ApiError as refusal:
            assert refusal.status in (404, 409)


def resize(scene: Scene) -> None:
    """To more than there is, so that others are asked to make room; and to less."""
    for cpu in ("3", "500m"):
        if scene.store.find(pod_key("x")) is not None:
            changed = {**resizable("x")["spec"], "resources": {"requests": {"cpu": cpu}}}
            scene.write(pod_key("x"), spec=changed)
            scene.pass_time(0.5)


@given(spoiled())
def test_every_component_survives(bodies: list[Json]) -> None:
    scene = Scene()
    put(scene, bodies)
    scene.pass_time(2)
    assert all(isinstance(sight, Seen | Unread) for sight in everything_seen(scene))
    disturb(scene)
    resize(scene)
    scene.pass_time(5)
    for kind in BY_NAME.values():
        for item in scene.store.list((kind.resource,)).items:
            scene.store.delete(item.key)
    scene.pass_time(200)
    scene.add(pod("healthy", on="n2"), node("n2"))
    scene.pass_time(2)
    assert scene.read(pod_key("healthy"))["status"]["phase"] == "Running"
    assert not any(isinstance(sight, Gone) for sight in everything_seen(scene))
