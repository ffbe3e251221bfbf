"""A PodDisruptionBudget is respected: other pods are preempted, or none."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "budgets-before.yaml",
    (
        "A Deployment of four pods, whose PodDisruptionBudget allows one disruption; on another node, batch",
        "pods with a higher priority. What runs:",
    ),
)
CHOICE = Apply(
    "budgets-preemptor.yaml",
    (
        "A pod is created that fits on one node if two web pods are preempted, or on the other if one batch",
        "pod is. The web pods have the lower priority, but the budget allows one disruption and not two.",
    ),
)
AGAIN = Apply(
    "budgets-before.yaml",
    (
        "",
        "The same cluster again, with Reprieve configured with respectBudgets: Always. What runs:",
    ),
)
NO_CHOICE = Apply(
    "budgets-no-choice.yaml",
    (
        "A pod is created that fits only where the web pods run. By default, as in Kubernetes, preemption",
        "exceeds a budget if nothing else helps. With Always, it does not.",
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, [CHOICE])
    play_script(pace, AGAIN, [NO_CHOICE], {"respectBudgets": "Always"})
