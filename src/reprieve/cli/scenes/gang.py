"""A gang preempts as a whole: room for all who must start together, or nobody is disturbed."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "gang-before.yaml", ("Two nodes with 8 accelerators each run a sweep of cheap pods. What runs there:",)
)
ACTS = (
    Apply(
        "gang-asks.yaml",
        (
            "A training job comes: three pods with 4 accelerators each, useless unless all start. Nobody is",
            "evicted before there is a complete plan; then only those go without whom it works.",
        ),
    ),
    Apply(
        "gang-too-large.yaml",
        (
            "Another comes that nothing can make room for, although it is more important than the others.",
            "Nobody is disturbed in vain, and the answer names the pod that it fails with.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, ACTS)
