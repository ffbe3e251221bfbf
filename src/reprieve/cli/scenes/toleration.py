"""A toleration holds, then it ends, and who waited has its room at that moment."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "toleration-before.yaml",
    (
        "One pod may not be disturbed in its first ten minutes, another never, by anybody with a priority",
        "below 10000: so their priority classes say. What runs, three quarters of a minute old:",
    ),
)
ACTS = (
    Apply(
        "toleration-high.yaml",
        (
            "A pod with priority 9000 comes. It is more important than both, and yet it has to wait. It says",
            "what for; and when the ten minutes are over, it is decided at that very moment.",
        ),
        seconds=620.0,
    ),
    Apply(
        "toleration-critical.yaml",
        (
            "A pod with priority 10000 comes. It has the minimum, and takes at once who is never preempted",
            "by others.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, ACTS)
