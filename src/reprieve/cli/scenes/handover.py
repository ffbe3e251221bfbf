"""Other pods are scheduled while victims terminate, and none takes the room that is reserved."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "handover-before.yaml",
    ("A batch job has all accelerators, and its pods take half a minute to terminate. What runs:",),
)
STEPS = (
    Apply(
        "handover-preemptor.yaml",
        (
            "An urgent pod is created that needs them all. Reprieve chooses the victims at once; the rest",
            "runs in the background: marking, evicting, waiting. The first three seconds:",
        ),
        seconds=3.0,
    ),
    Apply(
        "handover-others.yaml",
        (
            "While the victims terminate, other pods are created. Those that fit are placed at once. The",
            "room of the victims is reserved: a pod of lower priority does not get it.",
        ),
    ),
)
METRICS = (
    'reprieve_handovers_begun_total{preemptor="pod"}',
    'reprieve_handovers_ready_total{preemptor="pod"}',
    "reprieve_wasted_evictions_total",
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, STEPS, metrics=METRICS)
