"""A pod gets more where it runs: others on its node give way, unless the node says that they need not."""

from typing import Any

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, Patch, play_script

BEFORE = Apply(
    "resize-before.yaml",
    ("A database, a web server and reports share a node, and have all of it. What runs:",),
)
DATABASE = ("shop", "db-0")


def _cpu(cpu: str) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "db", "resources": {"requests": {"cpu": cpu}}}]}}


POLICY = {"spec": {"podPreemptionPolicy": {"disableResizePreemption": ["example.com/node-autoscaler"]}}}
ACTS = (
    Patch(
        "Pod",
        DATABASE,
        _cpu("5"),
        (
            "The database is to have 5 cpu instead of 3, without a restart. Its node has no room for that,",
            "and the kubelet puts it off. Who gives way is decided as for a newcomer, but on this node",
            "alone, and by the kubelet's own arithmetic: one report of 2 cpu is enough.",
        ),
        "resize",
    ),
    Patch(
        "Node",
        ("", "node-1"),
        POLICY,
        ("An autoscaler would rather make the node larger: it forbids preemption for resizes there.",),
        seconds=5.0,
    ),
    Patch(
        "Pod",
        DATABASE,
        _cpu("6"),
        ("The database is to have still more. Nobody is disturbed; its events say who does not want it.",),
        "resize",
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, ACTS)
