"""A group with disruptionMode all is evicted as a whole, or not at all."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "groups-before.yaml",
    (
        "A group of three pods runs on three nodes. Its disruptionMode is all: it is evicted as a whole, or",
        "not at all. Beside it run single pods. What runs:",
    ),
)
STEPS = (
    Apply(
        "groups-small.yaml",
        (
            "A service is created that needs half a node. All running pods have the same priority. The",
            "victim is a single pod: preempting the group would evict three.",
        ),
    ),
    Apply(
        "groups-large.yaml",
        (
            "Another service needs a whole node, and every node has a pod of the group. One of its pods is",
            "in the way, and all three are evicted: the other two alone would hold their room for nothing.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS)
