"""A group that is of use only as a whole is spared whole, or goes whole."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "groups-before.yaml",
    (
        "A group of three pods runs on three nodes. Its disruptionMode is all: it stays or goes whole.",
        "Beside it run single pods. What runs:",
    ),
)
ACTS = (
    Apply(
        "groups-small.yaml",
        (
            "A service comes that needs half a node. All pods there have the same priority; what is taken is",
            "a single pod, because it would cost three to disturb the group.",
        ),
    ),
    Apply(
        "groups-large.yaml",
        (
            "Another needs a whole node, and each has a pod of the group. One of its pods is in the way, and",
            "all three go: two that stayed would hold their room for nothing.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, ACTS)
