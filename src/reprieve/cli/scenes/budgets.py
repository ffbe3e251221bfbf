"""A disruption budget is respected: others give way, or nobody does."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "budgets-before.yaml",
    (
        "A Deployment of four, of which its disruption budget lets one go, and batch pods that are more",
        "important on another node. What runs:",
    ),
)
CHOICE = Apply(
    "budgets-asks.yaml",
    (
        "A pod comes that fits on either node if somebody goes: two web pods, or one batch pod. The web",
        "pods are the less important, but the budget allows one of them to go and not two.",
    ),
)
AGAIN = Apply(
    "budgets-before.yaml",
    (
        "",
        "The same cluster once more, and Reprieve is configured with respectBudgets: Always. What runs:",
    ),
)
NO_CHOICE = Apply(
    "budgets-no-choice.yaml",
    (
        "A pod comes that can only go where the web pods are. By default, as in Kubernetes, a budget is",
        "broken if nothing else helps. Here it must hold.",
    ),
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, [CHOICE])
    play_script(pace, AGAIN, [NO_CHOICE], {"respectBudgets": "Always"})
