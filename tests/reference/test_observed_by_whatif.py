"""The recorded decisions once more, asked as a user would: plain Kubernetes YAML, and the command itself.

Where several nodes or plans are equally good, kube-scheduler takes any of them, and the command its own: then
the command's answer must be one that kube-scheduler could have given, which the deciders that follow its ties
tell.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from reprieve.cli.main import reprieve
from tests.reference.observed_cases import Case, Observation, read_case
from tests.reference.observed_deciders import capability_of, decide_by
from tests.reference.recorded_files import FILES

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


_GROUPS = ("workloads", "compositePodGroups", "podGroups")
_NEW = ("newWorkloads", "newCompositePodGroups", "newPodGroups", "newPods")


def written_out(path: Path, folder: Path) -> list[str]:
    """Writes the case as files of YAML; returns the arguments that ask about it."""
    case = json.loads(path.read_text())
    groups = [group for key in _GROUPS for group in case.get(key, [])]
    pods, budgets = case.get("pods", []), case.get("podDisruptionBudgets", [])
    new = [one for key in _NEW for one in case.get(key, [])]
    cluster = [*classes_of([*pods, *groups, *new]), *case["nodes"], *pods, *groups, *budgets]
    (folder / "cluster.yaml").write_text(yaml.dump_all(cluster, Dumper=_DUMPER))
    args = ["whatif", "--from", str(folder / "cluster.yaml"), "--policy", "Upstream", "-o", "json"]
    if case.get("resize"):
        wanted = ",".join(f"{name}:{amount}" for name, amount in case["resize"]["to"].items())
        return [*args, "--resize", f"{case['resize']['pod']}={wanted}"]
    (folder / "new.yaml").write_text(yaml.dump_all(new, Dumper=_DUMPER))
    return [*args, "-f", str(folder / "new.yaml")]


def classes_of(objects: list[Any]) -> Iterator[Any]:
    """The cases leave the priority classes out; each is named after its value: `p100-never`."""
    names = {name for thing in objects if (name := thing["spec"].get("priorityClassName"))}
    for name in sorted(names):
        value, _, never = name.removeprefix("p").partition("-")
        head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        policy = {"preemptionPolicy": "Never"} if never else {}
        yield {**head, "value": int(value), **policy}


def answered(report: Any) -> Observation:
    placements = {one["pod"]["name"]: one["node"] for one in report["placements"]}
    room = report["preemption"]
    victims = frozenset(victim["pod"]["name"] for victim in room["victims"]) if room else frozenset()
    match report["outcome"]:
        case "Preempts":
            nominated = {} if report["resize"] else placements
            return Observation("preempts", nominated=nominated, victims=victims)
        case "Fits" if not report["resize"]:
            return Observation("placed", placed=placements)
        case _:
            return Observation("nothing")


def could_be(case: Case, ours: Observation) -> bool:
    """Whether kube-scheduler might have done this, if ties had gone otherwise."""
    return ours in map(without_messages, case.observed) or decide_by(capability_of(case), case, ours) == ours


def without_messages(recorded: Observation) -> Observation:
    return Observation(recorded.outcome, recorded.placed, recorded.nominated, recorded.victims)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_command_answers_as_recorded(path: Path, tmp_path: Path) -> None:
    asked = CliRunner().invoke(reprieve, written_out(path, tmp_path))
    assert asked.exit_code in (0, 10, 11, 20), asked.output
    ours = answered(json.loads(asked.stdout))
    assert could_be(read_case(path), ours), str(ours)
