"""Situations in which people ask what would happen, each with the golden text of its answer.

    python -m tests.unit.inquiry.situations

writes the golden texts anew, for a reader to judge each difference.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.unit.inquiry.objects import (
    budget,
    classes,
    deployment,
    group,
    manifest_file,
    node,
    pod,
    priority_class,
    snapshot_file,
)

from reprieve.cli.main import reprieve

GOLDEN = Path(__file__).parent / "golden"
_TOLERATES = {
    "preemption-toleration.scheduling.x-k8s.io/minimum-preemptable-priority": "1000",
    "preemption-toleration.scheduling.x-k8s.io/toleration-seconds": "3600",
}


@dataclass(frozen=True, slots=True)
class Situation:
    exit_code: int
    cluster: tuple[Any, ...]
    manifests: tuple[Any, ...] = ()
    args: tuple[str, ...] = ()


_TWO_NODES = (node("gpu-1"), node("gpu-2"))
_BUSY = (
    *_TWO_NODES,
    node("gpu-3", unschedulable=True),
    pod("train-0", 4, on="gpu-1", level="low"),
    pod("train-1", 4, on="gpu-1", level="low"),
    pod("batch-0", 2, on="gpu-2", level="low"),
    pod("serve-0", 6, on="gpu-2", level="standard"),
)
_WEB = {"app": "web"}

SITUATIONS: Mapping[str, Situation] = {
    "fits": Situation(0, (*_TWO_NODES, pod("a", 6, on="gpu-1")), (pod("new", 4, level="urgent"),)),
    "preempts_pods": Situation(10, _BUSY, (pod("new", 4, level="urgent"),)),
    "preempts_a_group": Situation(
        10,
        (
            *_TWO_NODES,
            group("train", 4, level="low", whole=True, namespace="ml"),
            *(
                pod(f"train-{i}", 4, on=f"gpu-{i // 2 + 1}", level="low", namespace="ml", group="train")
                for i in range(4)
            ),
        ),
        (pod("new", 8, level="urgent"),),
    ),
    "breaks_a_budget": Situation(
        11,
        (
            node("gpu-1"),
            *(pod(f"web-{i}", 2, on="gpu-1", labels=_WEB) for i in range(4)),
            budget("web", _WEB, allowed=1),
        ),
        (pod("new", 4, level="urgent"),),
    ),
    "cannot_fit": Situation(
        20,
        (
            *_TWO_NODES,
            node("gpu-3", unschedulable=True),
            *(pod(f"serve-{i}", 1 + i, on=f"gpu-{i}", level="urgent") for i in (1, 2)),
            *(pod(f"batch-{i}", 4, on=f"gpu-{i}", level="low") for i in (1, 2)),
        ),
        (pod("new", 8),),
    ),
    "gang_limited_by_a_member": Situation(
        20,
        (node("gpu-1"), node("gpu-2"), pod("serve-0", 3, on="gpu-2", level="urgent")),
        (
            group("new", 4, level="urgent"),
            *(pod(f"new-{i}", 4, level="urgent", group="new") for i in range(4)),
        ),
    ),
    "toleration_holds": Situation(
        20,
        (
            node("gpu-1"),
            priority_class("spot", _TOLERATES, value=50),
            pod("spot-0", 8, on="gpu-1", level="spot"),
        ),
        (pod("new", 4, level="urgent"),),
    ),
    "class_never_preempts": Situation(20, _BUSY, (pod("new", 8, level="patient"),)),
    "resize": Situation(
        10,
        (
            node("cpu-1", gpus=0, cpu="16"),
            pod("db", cpu="4", on="cpu-1", level="urgent"),
            pod("report", cpu="6", on="cpu-1", level="low"),
            pod("index", cpu="4", on="cpu-1"),
        ),
        args=("--resize", "db=cpu:8"),
    ),
    "several_demands": Situation(
        10,
        _BUSY,
        (
            pod("new", 4, level="urgent"),
            deployment("web", 2, cpu="4"),
            group("gang", 2, level="urgent"),
            *(pod(f"gang-{i}", 2, level="urgent", group="gang") for i in range(2)),
        ),
    ),
    "drain": Situation(
        10,
        (
            *_TWO_NODES,
            pod("api-0", 4, on="gpu-1", owner="api"),
            pod("api-1", 4, on="gpu-1", owner="api"),
            pod("lonely", on="gpu-1"),
            pod("train-0", 6, on="gpu-2", level="low", owner="train"),
        ),
        args=("--drain", "gpu-1"),
    ),
    "compare": Situation(
        10,
        (
            *_TWO_NODES,
            pod("web-0", 8, on="gpu-1", level="low"),
            budget("every-pod", {}, allowed=0),
            pod("train-0", 8, on="gpu-2", namespace="ml"),
        ),
        (pod("new", 8, level="urgent"),),
        ("--compare", "Upstream"),
    ),
    "markdown": Situation(10, _BUSY, (pod("new", 4, level="urgent"),), ("-o", "markdown")),
}


def asked(name: str, folder: Path) -> Result:
    situation = SITUATIONS[name]
    args = ["whatif", "--from", snapshot_file(folder, [*classes(), *situation.cluster]), *situation.args]
    if situation.manifests:
        args += ["-f", manifest_file(folder, situation.manifests)]
    return CliRunner().invoke(reprieve, args)


def main() -> None:
    for name in SITUATIONS:
        with tempfile.TemporaryDirectory() as folder:
            found = asked(name, Path(folder))
        (GOLDEN / f"{name}.txt").write_text(found.output)
        print(f"=== {name}: {found.exit_code}\n{found.output}")


if __name__ == "__main__":
    main()
