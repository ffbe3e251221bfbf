"""An in-place resize preempts pods on its node, unless the node forbids it."""

from typing import Any

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, Patch, play_script

BEFORE = Apply(
    "resize-before.yaml",
    ("A database, a web server and reports use all cpu of a node. What runs:",),
)
DATABASE = ("shop", "db-0")


def _cpu(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "db", "resources": {"requests": {"cpu": cpu}}}]}}


POLICY = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/node-autoscaler"]}}}
STEPS = (
    Patch(
        "Pod",
        DATABASE,
        _cpu("5"),
        (
            "The database is resized in place from 3 to 5 cpu. Its node has no room for that, and the",
            "kubelet defers the resize. Reprieve chooses victims as for a new pod, but on this node only,",
            "and counts as the kubelet does: one report of 2 cpu is enough.",
        ),
        "resize",
    ),
    Patch(
        "Node",
        ("", "node-1"),
        POLICY,
        ("A node autoscaler wants to enlarge the node instead: it disables preemption for resizes there.",),
        seconds=5.0,
    ),
    Patch(
        "Pod",
        DATABASE,
        _cpu("6"),
        ("The database is resized again. No pod is evicted; its events name what disabled preemption.",),
        "resize",
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS)
