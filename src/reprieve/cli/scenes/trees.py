"""A job with roles is a tree of groups: it preempts as one, and is evicted as one."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "trees-before.yaml", ("Two nodes with 8 accelerators each run a sweep of low-priority pods. What runs:",)
)
STEPS = (
    Apply(
        "trees-preemptor.yaml",
        (
            "A training job with two roles is created: a leader and two workers, a PodGroup each, in one",
            "CompositePodGroup that needs both. The leader alone would fit at once, and would wait for its",
            "workers in vain: there is one decision for all three pods, and one plan.",
        ),
    ),
    Apply(
        "trees-victim.yaml",
        (
            "A service is created that needs most of a node, and both nodes have pods of the job. The job's",
            "disruptionMode is all, so the leader and all workers are evicted, wherever they run: without",
            "one of the roles the rest would hold its accelerators for nothing.",
        ),
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS)
