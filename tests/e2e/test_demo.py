"""`reprieve demo` as a new user sees it."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.processes import run_process, started

REPRIEVE = str(Path(sys.executable).with_name("reprieve"))
USUAL = ("gang", "groups", "toleration", "crowd")
SCENES = (*USUAL, "budgets", "trees", "handover", "resize", "placement", "workloads")
PAGE = re.compile(r"on the page: (http://127\.0\.0\.1:\S+)")


@pytest.fixture(scope="module")
def shown() -> str:
    """The output of all scenes without input; the exit code is 0."""
    command = [REPRIEVE, "demo", "--all", "--no-input"]
    done = run_process(command, check=True, stdin=subprocess.DEVNULL)
    assert done.stderr == ""
    return untimed(done.stdout)


def untimed(text: str) -> str:
    """Without the seconds that an answer took on this machine: nothing else differs between two runs."""
    return re.sub(r" [\d.]+(?=  (?:-|yes|no)$)", " …", text, flags=re.MULTILINE)


def paragraph(text: str, pod: str) -> str:
    """The paragraph about one pod."""
    begin = text.index(f"Pod {pod} requests")
    return text[begin : text.find("\nPod ", begin)]


def test_the_nodes_and_how_full_they_are(shown: str) -> None:
    lines = scene_of(shown, "placement").splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("NODE "))
    names = [line.split()[0] for line in lines[head + 1 : head + 7]]
    assert names == ["cpu-1", "cpu-2", "cpu-3", "cpu-4", "gpu-1", "gpu-2"]
    assert "10/16 (62%)" in lines[head + 1]


def test_a_pod_that_fits_shows_its_node_and_the_scores(shown: str) -> None:
    cart = paragraph(shown, "shop/cart")
    assert "It fits on 3 of 6 nodes and goes to cpu-2." in cart
    assert "NodeResourcesFit" in cart
    assert "InterPodAffinity" in paragraph(shown, "shop/report")


def test_a_pod_that_others_could_make_room_for(shown: str) -> None:
    tune = paragraph(shown, "ml/fine-tune")
    assert "It fits on none of the 6 nodes." in tune
    assert "Preemption might help on gpu-1, gpu-2." in tune
    assert "2  gpu-1, gpu-2         may help     has insufficient nvidia.com/gpu left" in tune


def test_a_pod_that_preemption_cannot_help(shown: str) -> None:
    notebook = paragraph(shown, "ml/notebook")
    assert "Preemption cannot help." in notebook
    assert "has the taint gpu:NoSchedule, which the pod does not tolerate" in notebook


def test_placing_ends_with_a_count(shown: str) -> None:
    assert "4 of 6 pods placed." in shown


def test_the_scenes_are_played_in_order(shown: str) -> None:
    headings = [line for line in shown.splitlines() if line.startswith("Scene ")]
    assert headings == [
        f"Scene {number} of {len(SCENES)}: {name}" for number, name in enumerate(SCENES, start=1)
    ]


@pytest.mark.parametrize("scene", SCENES)
def test_one_scene(shown: str, scene: str) -> None:
    command = [REPRIEVE, "demo", "--no-input", "--scene", scene]
    alone = untimed(run_process(command, check=True).stdout)
    first, *rest = alone.splitlines()
    assert first == f"Scene 1 of 1: {scene}"
    assert "\n".join(rest).strip() in shown


# --- the cluster ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def happened(shown: str) -> list[str]:
    """What happened in the cluster, in order."""
    return re.findall(r"^ *[\d.]+ s  (.*)$", scene_of(shown, "workloads"), re.MULTILINE)


def scene_of(shown: str, name: str) -> str:
    return shown[shown.index(f": {name}\n") :].split("\nScene ", maxsplit=1)[0]


def about(happened: list[str], pattern: str) -> list[str]:
    return [line for line in happened if re.match(pattern, line)]


def test_a_deployment_is_placed_and_runs(happened: list[str]) -> None:
    assert len(about(happened, "Node .* joins with cpu 4, memory 16Gi, pods 110")) == 3
    placed = about(happened, "Pod shop/web-.* goes to node-")
    assert sorted(line[-1] for line in placed) == ["1", "2", "3"]
    assert len(about(happened, "Pod shop/web-.* runs on node-")) == 3


def test_a_job_is_placed_runs_and_ends(happened: list[str]) -> None:
    assert len(about(happened, "Pod shop/report-.* goes to node-")) == 4
    assert len(about(happened, "Pod shop/report-.* runs on node-")) == 4
    assert len(about(happened, "Pod shop/report-.* succeeded on node-")) == 4


def test_a_pending_pod_is_placed_when_another_ends(happened: list[str]) -> None:
    (waiting,) = about(happened, "Pod shop/report-.* is unschedulable: 3 nodes have insufficient cpu left")
    pod = waiting.split()[1]
    then = [line.split()[2] for line in happened[happened.index(waiting) :] if pod in line]
    assert then == ["is", "goes", "runs", "succeeded"]
    before = happened[: happened.index(about(happened, f"Pod {pod} goes")[0])]
    assert any("succeeded on" in line for line in before)


def test_time_goes_forward_and_the_end_is_a_table(shown: str) -> None:
    cluster = scene_of(shown, "workloads")
    moments = [float(found) for found in re.findall(r"^ *([\d.]+) s  ", cluster, re.MULTILINE)]
    assert moments == sorted(moments)
    assert "Deployment shop/web  3/3 ready  available" in shown
    assert "Job shop/report      4/4 done   complete" in shown


# --- terminals and pipes -------------------------------------------------------------------------


def test_two_runs_say_the_same(shown: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [REPRIEVE, "demo", "--all", "--no-input"]
    again = run_process(command, check=True, env=environment)
    assert untimed(again.stdout) == shown


def test_no_input_is_expected(shown: str) -> None:
    """With stdin closed, as some supervisors start their children, it does not wait either."""
    done = run_process(f"{REPRIEVE} demo --all <&-", shell=True, check=True)
    assert untimed(done.stdout) == shown


def test_no_colour_where_there_is_no_terminal(shown: str) -> None:
    assert "\x1b" not in shown


def on_a_terminal(*arguments: str, key: bytes = b"\n", **environment: str) -> Iterator[str]:
    """Runs the demo on a terminal, presses a key whenever it waits, and yields what came before each."""
    controller, terminal = pty.openpty()
    command = [REPRIEVE, "demo", *arguments]
    env = {**os.environ, "TERM": "xterm", **environment}
    with started(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env, text=False) as process:
        os.close(terminal)
        text = ""
        while chunk := read(controller):
            text += chunk
            if text.endswith(("next pod. ", "next step. ", "key: end. ")):
                yield text
                text = ""
                os.write(controller, key)
        yield text
    os.close(controller)
    assert process.returncode == 0


def read(controller: int) -> str:
    try:
        return os.read(controller, 65536).decode()
    except OSError:  # a closed terminal
        return ""


def test_on_a_terminal_it_waits_between_pods_and_shows_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    parts = list(on_a_terminal("--scene", "placement"))
    assert len(parts) == 6
    assert all(part.count("Pod ") == 1 for part in parts)
    assert "\x1b[" in parts[0]


def test_ten_keys_lead_through_four_scenes_to_the_page() -> None:
    """It begins with the gang, shows paths instead of manifests, and the page answers until the last key."""
    parts: list[str] = []
    for part in on_a_terminal(NO_COLOR="1"):
        parts.append(part)
        for address in PAGE.findall(part):
            assert b"<title>" in urlopen(address).read()
    text = "".join(parts).replace("\r", "")
    assert len(parts) - 1 <= 10
    assert len(PAGE.findall(text)) == 1
    headings = re.findall(r"^Scene (\d of \d: \S+)$", text, re.MULTILINE)
    assert headings == [f"{number} of 4: {name}" for number, name in enumerate(USUAL, start=1)]
    assert "apiVersion" not in text
    assert re.search(r"^\$ kubectl apply -f \S+/demo/gang-preemptor.yaml$", text, re.MULTILINE)


def test_all_scenes_are_not_asked_for_beside_one() -> None:
    done = run_process([REPRIEVE, "demo", "--all", "--scene", "gang"])
    assert done.returncode == 2
    assert "--all: expected no --scene beside it" in done.stderr


@pytest.mark.parametrize(
    ("scene", "moment"), [("placement", "next pod. "), ("workloads", "shop/web is applied")]
)
def test_ctrl_c_ends_it_without_a_fuss(scene: str, moment: str) -> None:
    controller, terminal = pty.openpty()
    command = [REPRIEVE, "demo", "--scene", scene]
    text = ""
    with started(
        command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, text=False
    ) as process:
        os.close(terminal)
        while moment not in text:
            text += read(controller)
        process.send_signal(signal.SIGINT)
        while chunk := read(controller):
            text += chunk
    os.close(controller)
    assert process.returncode == 1
    assert text.rstrip().endswith("Aborted!")
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("key", "scenes"),
    [(b"n", ["Scene 1 of 2: gang", "Scene 2 of 2: groups"]), (b"q", ["Scene 1 of 2: gang"])],
)
def test_a_key_skips_a_scene_or_ends_the_demo(key: bytes, scenes: list[str]) -> None:
    text = "".join(on_a_terminal("--scene", "gang", "--scene", "groups", key=key, NO_COLOR="1"))
    assert [line.strip() for line in text.splitlines() if line.startswith("Scene ")] == scenes
    assert "A training job is created" not in text


def test_no_color_is_respected() -> None:
    assert "\x1b[" not in "".join(on_a_terminal("--no-input", NO_COLOR="1"))
