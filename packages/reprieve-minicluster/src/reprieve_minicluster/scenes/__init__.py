"""The scenes of `reprieve demo`, in the order in which they are played.

A new scene is a line here, and an entry in `scenes.scripts` or a module with a function ``play``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path

from reprieve.model.json import Json

ListObjects = Callable[[str], list[Json]]  # those of a kind

# Name: what it shows. The first few are what everybody should see.
SCENES = {
    "gang": "a gang preempts for all of its pods, or not at all",
    "groups": "a group is evicted as a whole, or not at all",
    "toleration": "a preemptor waits until a toleration ends, to the second",
    "crowd": "what a gang stops in a crowded cluster, by kube-scheduler's algorithm and by ours",
    "budgets": "a PodDisruptionBudget is respected",
    "trees": "a job with roles, a leader and workers, preempts as one and is evicted as one",
    "handover": "other pods are scheduled while victims terminate, and none takes the reserved room",
    "resize": "a running pod gets more cpu in place, and another is preempted for it",
    "placement": "pods are placed one by one, and each result is explained",
    "workloads": "a cluster in one process: the pods of a Deployment and a Job are scheduled, run and end",
}
USUAL_SCENES = tuple(SCENES)[:4]
ON_THE_PAGE = "gang"  # its journal is shown at the end


_MODULES = ("placement", "workloads", "crowd")


class SceneSkippedError(Exception):
    """The user goes on to the next scene."""


class DemoEndedError(Exception):
    """The user has seen enough."""


def path_of(file: str) -> str:
    """Where a file of the demo is, from here; of an installed package, within the package."""
    path = Path(str(files("reprieve_minicluster") / "demo" / file))
    return (
        str(path.relative_to(Path.cwd()))
        if path.is_relative_to(Path.cwd())
        else f"reprieve_minicluster/demo/{file}"
    )


@dataclass(frozen=True, slots=True)
class ScenePacing:
    """How a scene is paced: a pause before each step, and a short one after each line.

    ``wait`` raises SceneSkippedError or DemoEndedError if the user wants so.
    """

    wait: Callable[[str], None]  # its argument: what comes next
    breathe: Callable[[], None]
    speed: float | None = None  # simulated seconds per second; None: as fast as possible


def play_scene(name: str, pace: ScenePacing, command: str, journal: Path | None = None) -> None:
    """``command``: what the user has typed, as in `reprieve demo`. Scenes are loaded when they are played.

    ``journal``: a directory where the scheduler of a scripted scene writes its journal.
    """
    if name in _MODULES:
        import_module(f"reprieve_minicluster.scenes.{name}").play(pace, command)
    else:
        import_module("reprieve_minicluster.scenes.scripts").play(name, pace, journal)
