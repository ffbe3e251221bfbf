"""Others are scheduled while victims drain, and nobody takes the room that is being made."""

from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.scripted import Apply, play_script

BEFORE = Apply(
    "handover-before.yaml",
    ("A batch job has all accelerators of the cluster, and takes half a minute to leave. What runs:",),
)
ACTS = (
    Apply(
        "handover-asks.yaml",
        (
            "Somebody urgent comes and needs them all. Who gives way is decided at once; what follows goes",
            "on in the background: marking, evicting, waiting. The first three seconds:",
        ),
        seconds=3.0,
    ),
    Apply(
        "handover-others.yaml",
        (
            "While the batch job is still leaving, others come. Who finds room is placed at once. The room",
            "that is being made is reserved: whoever is less important does not get it.",
        ),
    ),
)
METRICS = (
    'reprieve_handovers_begun_total{preemptor="pod"}',
    'reprieve_handovers_ready_total{preemptor="pod"}',
    "reprieve_wasted_evictions_total",
)


def play(pace: ScenePacing, command: str) -> None:
    play_script(pace, BEFORE, ACTS, metrics=METRICS)
