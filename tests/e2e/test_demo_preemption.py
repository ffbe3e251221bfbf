"""The scenes of `reprieve demo` about preemption, and what they show pasted into a cluster."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from tests.e2e.up import REPRIEVE, Kubectl, cluster_up

DEMO = files("reprieve_minicluster") / "demo"
STORIES = ["gang", "groups", "trees", "budgets", "toleration"]


def shown(scene: str, *flags: str) -> str:
    command = [REPRIEVE, "demo", "--scene", scene, "--no-input", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return done.stdout


def acts(text: str) -> list[str]:
    """What follows each command up to the next."""
    return re.split(r"\n\$ kubectl apply -f \S+\n", text)[1:]


def happenings(act: str) -> list[tuple[float, str]]:
    """The lines of an act that have a time."""
    found = re.findall(r"^ +([\d.]+) s  (.*)$", act, re.MULTILINE)
    return [(float(seconds), text) for seconds, text in found]


def pods(act: str) -> dict[str, str]:
    """The table at the end of an act: pods and their nodes."""
    table = act[act.index("\nPOD ") :].strip().split("\n\n")[0].splitlines()[1:]
    return {row.split()[0]: row.split()[3] for row in table}


# --- gangs ---------------------------------------------------------------------------------------


def test_a_gang_preempts_as_a_whole() -> None:
    first, _ = acts(shown("gang"))
    assert "preempting 2 pods on gpu-1, 1 pod on gpu-2." in first
    told = happenings(first)
    assert [text for at, text in told if at == 0.0][1:] == [
        "Pod ml/sweep-0 is terminating on gpu-1",
        "Pod ml/sweep-1 is terminating on gpu-1",
        "Pod ml/sweep-3 is terminating on gpu-2",
    ]
    gone = max(at for at, text in told if text.endswith("was deleted"))
    runs = [at for at, text in told if re.match(r"Pod ml/llm-\d runs", text)]
    assert len(runs) == 3
    assert set(runs) == {gone + 1}, "all start together, when the last victim is gone"
    assert pods(first).keys() == {"ml/llm-0", "ml/llm-1", "ml/llm-2", "ml/sweep-2"}
    assert re.search(r"Pod/ml/sweep-2 +1 +10 +there is room beside it", first)


def test_no_pod_is_evicted_for_a_gang_that_cannot_start() -> None:
    _, second = acts(shown("gang"))
    assert (
        "Preemption cannot help: even after evicting all 4 pods of lower priority, pod giant-2 would not fit"
        in second
    )
    assert not any("terminating" in text for _, text in happenings(second))


# --- groups --------------------------------------------------------------------------------------


def test_a_group_is_spared_as_a_whole() -> None:
    first, _ = acts(shown("groups"))
    assert re.search(r"PodGroup/lab/train +3 +100 +there is room beside it", first)
    assert [text for _, text in happenings(first) if "terminating" in text] == [
        "Pod lab/crawl-0 is terminating on node-1"
    ]


def test_a_group_is_evicted_as_a_whole() -> None:
    _, second = acts(shown("groups"))
    left = {text.split()[1] for _, text in happenings(second) if "is terminating" in text}
    assert left == {"lab/train-0", "lab/train-1", "lab/train-2", "lab/crawl-1"}
    assert "PodGroup/lab/train is evicted whole or not at all" in second


# --- trees ---------------------------------------------------------------------------------------


def test_a_job_with_roles_preempts_as_one() -> None:
    first, _ = acts(shown("trees"))
    job = {"ml/llm-leader", "ml/llm-worker-0", "ml/llm-worker-1"}
    told = happenings(first)
    assert "CompositePodGroup ml/llm (priority 1000, 3 pods): decision" in told[0][1]
    gone = max(at for at, text in told if text.endswith("was deleted"))
    runs = {at for at, text in told if re.match(r"Pod ml/llm-\S+ runs", text)}
    assert runs == {gone + 1}, "the leader, which would fit at once, waits for the workers"
    assert job < pods(first).keys()


def test_a_job_with_roles_is_evicted_as_one() -> None:
    _, second = acts(shown("trees"))
    left = {text.split()[1] for _, text in happenings(second) if "is terminating" in text}
    assert left == {"ml/llm-leader", "ml/llm-worker-0", "ml/llm-worker-1"}
    assert "CompositePodGroup/ml/llm is evicted whole or not at all" in second
    assert pods(second) == {"ml/chat": "gpu-1", "ml/sweep-2": "gpu-2", "ml/sweep-3": "gpu-2"}


# --- handovers -----------------------------------------------------------------------------------


def test_others_are_scheduled_while_a_victim_drains() -> None:
    first, second = acts(shown("handover"))
    asked = next(at for at, text in happenings(first) if text == "Pod lab/render is terminating on gpu-1")
    told = {text: at for at, text in happenings(second)}
    placed = [told["Pod lab/web goes to node-1"], told["Pod lab/index goes to gpu-1"]]
    assert placed == [asked + 3.0, asked + 3.0]
    assert told["Pod lab/render was deleted"] == told["Pod lab/answer goes to gpu-1"] == asked + 30.0
    assert pods(second)["lab/sneak"] == "-", "the room is reserved for a pod of higher priority"
    assert 'reprieve_handovers_ready_total{preemptor="pod"} 1.0' in second
    assert "reprieve_wasted_evictions_total 0.0" in second


# --- budgets -------------------------------------------------------------------------------------


def test_a_budget_sways_the_choice() -> None:
    first, _ = acts(shown("budgets"))
    assert "node-2 is the best of 2 placements by: fewest disruption budgets broken." in first
    assert pods(first)["shop/report"] == "node-2"


def test_a_budget_that_must_hold() -> None:
    _, second = acts(shown("budgets"))
    assert "1 beyond PodDisruptionBudgets, and respectBudgets is Always." in second
    assert pods(second)["shop/index"] == "-"


# --- tolerations ---------------------------------------------------------------------------------


def test_a_toleration_holds_and_then_ends() -> None:
    first, _ = acts(shown("toleration"))
    assert "1 pod of class low-10min is protected until 00:10:00 UTC" in first
    told = happenings(first)
    left = [at for at, text in told if text == "Pod lab/epochs is terminating on node-1"]
    assert left == [555.0], "three quarters of a minute had passed when the scene began"
    assert [text for at, text in told if 0.0 < at < 555.0] == [], "no decision before that moment"
    assert pods(first) == {"lab/licence-server": "node-2", "lab/report": "node-1"}


def test_a_preemptor_with_the_minimum_priority_does_not_wait() -> None:
    _, second = acts(shown("toleration"))
    (asked,) = (at for at, text in happenings(second) if "is terminating" in text)
    assert asked == happenings(second)[0][0]


def test_the_speed_of_a_scene() -> None:
    begin = time.monotonic()
    shown("toleration", "--speed", "1000")
    assert time.monotonic() - begin > 0.7, "it tells of seven hundred seconds"


# --- all of them ---------------------------------------------------------------------------------


VICTIM = re.compile(
    r"Preempted by (pod|podgroup|compositepodgroup) ([a-z][\w-]*|[0-9a-f-]{36}) on node [\w-]+"
    r"(, with all of (Composite)?PodGroup [\w-]+)?: the preemptor's priority is \d+ \(decision d-\w+\); "
    r"more: reprieve why pod/[\w-]+ -n [\w-]+$"
)


@pytest.mark.parametrize("scene", STORIES)
def test_events_tell_both_sides_of_each_other(scene: str) -> None:
    first = acts(shown(scene))[0]
    events = first[first.index("EVENT ON") :].split("\n\n")[0].splitlines()[1:]
    (preemptor,) = (line for line in events if " Preempting " in line)
    assert re.search(r"preempting \d pods? on [\w-]+.* \(decision d-\w+\)$", preemptor)
    victims = [line for line in events if " Preempted " in line]
    assert victims
    assert all(VICTIM.search(line) for line in victims), victims


@pytest.mark.parametrize("scene", STORIES)
def test_two_runs_say_the_same(scene: str) -> None:
    assert shown(scene) == shown(scene)


# --- pasted into a cluster -----------------------------------------------------------------------


@pytest.fixture
def empty_cluster() -> Iterator[Path]:
    with cluster_up("--nodes", "0") as path:
        yield path


def test_what_a_scene_shows_can_be_pasted(empty_cluster: Path, home: Path) -> None:
    kubectl = Kubectl(empty_cluster, home, "ml")
    for name in ("gang-before.yaml", "gang-preemptor.yaml"):
        kubectl("apply", "-f", "-", stdin=(DEMO / name).read_text())
        until(lambda: set(phases(kubectl)) == {"Running"})
    assert phases(kubectl).count("Running") == 4
    assert {"llm-0", "llm-1", "llm-2"} < set(kubectl.names("pods"))


def test_a_class_that_is_edited_with_kubectl_counts_at_once(empty_cluster: Path, home: Path) -> None:
    kubectl = Kubectl(empty_cluster, home, "lab")
    kubectl("apply", "-f", "-", stdin=(DEMO / "toleration-before.yaml").read_text())
    until(lambda: phases(kubectl) == ["Running", "Running"])
    kubectl("apply", "-f", "-", stdin=(DEMO / "toleration-high.yaml").read_text())
    until(lambda: "1 pod of class low-10min is protected until" in message(kubectl, "report"))
    seconds = "preemption-toleration.scheduling.x-k8s.io/toleration-seconds"
    kubectl("annotate", "--overwrite", "priorityclass", "low-10min", f"{seconds}=ten")
    until(lambda: "epochs" not in kubectl.names("pods"))
    until(lambda: "Running" in phases(kubectl, "report"))
    told = Kubectl(empty_cluster, home, "default").get("events")["items"]
    assert [e["message"] for e in told if e["involvedObject"]["name"] == "low-10min"] == [
        f'annotation {seconds}: expected a whole number of 64 bits, got "ten"; the class protects no pod'
    ]


def message(kubectl: Kubectl, pod: str) -> str:
    """Why a pod waits."""
    conditions = kubectl.get("pod", pod)["status"].get("conditions", [])
    return next((c.get("message", "") for c in conditions if c["type"] == "PodScheduled"), "")


def phases(kubectl: Kubectl, *names: str) -> list[str]:
    """Of these pods, or of all."""
    pods = kubectl.get("pods")["items"]
    return [pod["status"]["phase"] for pod in pods if not names or pod["metadata"]["name"] in names]


def until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)
