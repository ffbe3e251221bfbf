"""The scenes of `reprieve demo`, in the order in which they are played: a module each.

A scene is a function ``play`` that shows something to somebody who reads along. A further scene is a module
and a line here.
"""

from collections.abc import Callable
from dataclasses import dataclass

from reprieve.model.json import Json

ListObjects = Callable[[str], list[Json]]  # those of a kind

# Name: what it shows.
SCENES = {
    "placing": "pods ask for a place, one after another, and each answer is explained",
    "cluster": "a cluster in one process: a Deployment and a Job are placed, run and end",
    "gang": "a gang makes room for all its pods, or disturbs nobody",
    "groups": "a group is spared whole, or goes whole",
    "budgets": "a disruption budget is respected",
    "toleration": "who may not be taken yet is waited for, to the second",
    "handover": "others are scheduled while victims drain, and nobody takes the room that is being made",
    "resize": "a pod gets more where it runs, and others give way",
}


@dataclass(frozen=True, slots=True)
class Pace:
    """How a scene waits for its reader: until he wants to go on, and for a moment after a line."""

    wait: Callable[[str], None]  # is told what comes next
    breathe: Callable[[], None]
    speed: float | None = None  # how many seconds of a story pass in one of his; None: any number
