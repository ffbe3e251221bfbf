"""A gang preempts as a whole: for all pods that must start together, or not at all."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "gang-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
STEPS = (
    Apply(
        "gang-preemptor.yaml",
        (
            "A training job is created: three pods with 4 accelerators each, which must all start. No pod is",
            "evicted before there is a plan for all three; then only as many are as the plan needs.",
        ),
    ),
    Apply(
        "gang-too-large.yaml",
        (
            "Another gang is created that does not fit even with preemption, although its priority is the",
            "highest. No pod is evicted in vain, and the answer names the pod that does not fit.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS)
