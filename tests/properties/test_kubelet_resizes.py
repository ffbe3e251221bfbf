"""Whatever is wished for on a node: it is never overcommitted, and no resize waits without need."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.minicluster.scene import Scene, condition, node, pod, pod_key

from reprieve.model.json import Json
from reprieve_minicluster.kubelet import Kubelets
from reprieve_minicluster.store import Key

OFFERED = 4000
CRITICAL = 2_000_000_000
NODE = Key("nodes", "", "n1")
POLICY = {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/a"]}}

NAMES = st.sampled_from("abcd")
CPUS = st.sampled_from([500, 1000, 1500, 3000, 5000])
STEPS = st.one_of(
    st.tuples(st.just("add"), NAMES, CPUS, st.sampled_from([0, 5, CRITICAL])),
    st.tuples(st.just("resize"), NAMES, CPUS),
    st.tuples(st.just("resize"), NAMES, CPUS),
    st.tuples(st.just("delete"), NAMES, st.sampled_from([0, 5])),
    st.tuples(st.just("wait"), st.sampled_from([0.5, 1, 7])),
    st.tuples(st.just("policy"), st.booleans()),
    st.tuples(st.just("restart")),
)


def play(scene: Scene, step: tuple[Any, ...]) -> None:
    match step:
        case ("add", name, cpu, priority) if scene.store.find(pod_key(name)) is None:
            body = pod(name, on="n1", cpu=f"{cpu}m")
            body["spec"] |= {"priority": priority, "terminationGracePeriodSeconds": 5}
            scene.add(body)
        case ("resize", name, cpu) if scene.store.find(pod_key(name)) is not None:
            scene.change(pod_key(name), lambda body: set_cpu(body, cpu))
        case ("delete", name, grace) if scene.store.find(pod_key(name)) is not None:
            scene.store.delete(pod_key(name), grace=grace)
        case ("wait", seconds):
            scene.pass_time(seconds)
        case ("policy", forbidden):
            scene.write(NODE, spec=POLICY if forbidden else {})
        case ("restart",):
            scene.kubelets = Kubelets(scene.store, scene.clock)
    scene.pass_time(0)


def set_cpu(body: Json, cpu: int) -> None:
    body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{cpu}m"


# --- a plain reading of the pods -------------------------------------------------------------------


def wanted(body: Json) -> int:
    return int(body["spec"]["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m"))


def reported(body: Json) -> list[int]:
    """What is granted and what is enforced, where a kubelet has said so."""
    amounts = []
    for status in body["status"].get("containerStatuses", ()):
        for requests in (status.get("allocatedResources"), status.get("resources", {}).get("requests")):
            amounts += [int(requests["cpu"].removesuffix("m"))] if requests else []
    return amounts


def present(scene: Scene) -> list[Json]:
    return [p for p in scene.all("pods") if reported(p) and p["status"]["phase"] == "Running"]


def held(scene: Scene) -> int:
    return sum(max(reported(p)) for p in present(scene))


def expected(scene: Scene) -> int:
    """What those will hold that are about to start."""
    return sum(max([0, *(reported(p) or [wanted(p)])]) for p in starting(scene))


def starting(scene: Scene) -> list[Json]:
    return [p for p in scene.all("pods") if p["status"]["phase"] == "Pending"]


def check(scene: Scene) -> None:
    assert held(scene) <= OFFERED
    forbidden = bool(scene.read(NODE)["spec"])
    staying = [p for p in present(scene) if "deletionTimestamp" not in p["metadata"]]
    making_room = any(_is_made_room_for(p) for p in staying)
    for body in staying:
        pending = condition(body, "PodResizePending")
        reason = pending["reason"] if pending is not None else ""
        disabled = condition(body, "PodResizePreemptionDisabled") is not None
        assert disabled == (forbidden and reason == "Deferred")
        assert condition(body, "PodResizeInProgress") is not None or len(set(reported(body))) == 1
        others = held(scene) + expected(scene) - max(reported(body))
        lacks = others + wanted(body) > OFFERED
        match reason:
            case "Infeasible":
                assert wanted(body) > OFFERED
            case "Deferred":
                assert lacks or making_room
            case "" if not _is_made_room_for(body) and not _is_ending(body):
                assert reported(body)[0] == wanted(body)


def _is_made_room_for(body: Json) -> bool:
    placed = condition(body, "PodResizePending") is None and reported(body)[0] == wanted(body)
    return body["spec"]["priority"] == CRITICAL and not placed


def _is_ending(body: Json) -> bool:
    return condition(body, "DisruptionTarget") is not None


# Most stories begin with a node that is nearly full.
CROWDS = st.tuples(*(st.sampled_from([0, 5, CRITICAL]) for _ in "abc"))


@given(CROWDS, st.lists(STEPS, min_size=3, max_size=14))
def test_any_story(crowd: tuple[int, ...], steps: list[tuple[Any, ...]]) -> None:
    scene = Scene()
    scene.add(node("n1"))
    scene.write(NODE, spec={})
    for name, priority, cpu in zip("abc", crowd, (1000, 1500, 1000), strict=False):
        play(scene, ("add", name, cpu, priority))
    scene.pass_time(1)
    for step in steps:
        play(scene, step)
        check(scene)
    scene.pass_time(60)
    check(scene)
    for body in present(scene):
        assert len(set(reported(body))) == 1, "all that was granted is enforced in the end"
