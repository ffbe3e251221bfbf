"""A preemption toleration holds, then it ends, and the waiting preemptor acts at that moment."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "toleration-before.yaml",
    (
        "Two priority classes tolerate preemption by priorities below 10000: one for the first ten minutes",
        "of a pod, one for as long as it runs. What runs, 45 s old:",
    ),
)
STEPS = (
    Apply(
        "toleration-high.yaml",
        (
            "A pod with priority 9000 is created. Its priority is higher than both, and yet it has to wait:",
            "its events say for what. When the ten minutes are over, it preempts at that very moment.",
        ),
        seconds=620.0,
    ),
    Apply(
        "toleration-critical.yaml",
        (
            "A pod with priority 10000 is created. That is the minimum, so it preempts at once the pod that",
            "tolerates all lower priorities.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS)
