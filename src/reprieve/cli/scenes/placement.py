"""Pods ask for a place one after another, and each answer is explained.

The cluster is the one that comes with the package, or the user's own. Nothing is decided here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from reprieve.cli.manifests import latest, read_manifest
from reprieve.cli.scenes import ScenePacing
from reprieve.cli.terminal import show
from reprieve.cluster.api.pod_fields import unserved_fields
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.model.snapshot_builder import build
from reprieve.model.whatif import with_pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import best, rate, survey
from reprieve.report.nodes import node_table
from reprieve.report.placement import fits, fits_nowhere, held_back, pod_heading
from reprieve.report.text_layout import BLANK, TextLine, counted, indented

BUILT_IN = str(files("reprieve") / "demo" / "cluster.yaml")


def play(pace: ScenePacing, command: str) -> None:
    show(introduction(command))
    ask_for_all(set_scene(None, ()), pace)


# --- who asks, and in which cluster --------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PlacementScene:
    view: Snapshot
    asking: tuple[int, ...]  # rows of pods
    complaints: tuple[str, ...]


def set_scene(cluster: str | None, filenames: Sequence[str]) -> PlacementScene:
    base = read_manifest(cluster or BUILT_IN)
    more = [read_manifest(name) for name in filenames]
    added = [thing for one in more for thing in one.objects]
    built = build(latest([*base.objects, *added]))
    # What else there is in a cluster is not asked about; what somebody wants placed is.
    malformed = [*base.malformed, *(s for one in more for s in (*one.malformed, *one.strange))]
    return PlacementScene(
        view=built.snapshot,
        asking=waiting(built.snapshot, added if filenames else base.objects),
        complaints=(*malformed, *map(str, built.problems)),
    )


def waiting(view: Snapshot, objects: Iterable[KubernetesObject]) -> tuple[int, ...]:
    keys = dict.fromkeys((o.metadata.namespace, o.metadata.name) for o in objects if isinstance(o, Pod))
    rows = (view.pods.rows[key] for key in keys if key in view.pods.rows)
    return tuple(row for row in rows if asks(view.pods.compiled[row]))


def asks(compiled: CompiledPod) -> bool:
    """A pod asks until it has a node; one of which something cannot be read is not placed by halves."""
    pod = compiled.pod
    leaving = pod.metadata.deletion_timestamp is not None
    return not (pod.spec.node_name or leaving or compiled.problems)


# --- what is said --------------------------------------------------------------------------------


def introduction(command: str) -> list[TextLine]:
    return [
        TextLine("Pods ask for a place in a cluster, one after another. The cluster is made up:"),
        *indented([TextLine(BUILT_IN)]),
        TextLine("For yours: kubectl get nodes,pods -A -o yaml > cluster.yaml"),
        TextLine(f"           {command} --cluster cluster.yaml -f pods.yaml"),
        BLANK,
    ]


def ask_for_all(scene: PlacementScene, pace: ScenePacing) -> bool:
    """Shows the nodes, each pod in turn, and the nodes that got some; tells whether all found a place."""
    view, used = scene.view, []
    show([*node_table(view), BLANK])
    for pod in scene.asking:
        if pod != scene.asking[0]:
            pace.wait("the next pod")
        lines, node = answer(view, pod)
        show([*pod_heading(view, pod), *lines, BLANK])
        if node is not None:
            view = with_pod(view, pod, node)
            used.append(node)
    show([TextLine(f"{len(used)} of {counted(len(scene.asking), 'pod')} found a place.")])
    if used:
        show([BLANK, *node_table(view, used)])
    return len(used) == len(scene.asking)


def answer(view: Snapshot, pod: int) -> tuple[list[TextLine], int | None]:
    """What is to be said to a pod, and the node that it gets."""
    asked = view.pods.compiled[pod].pod
    gates = [gate.name for gate in asked.spec.scheduling_gates]
    if gates or unserved_fields(asked):
        return held_back(gates, unserved_fields(asked)), None
    ask = Ask(view, pod)
    found = survey(ask)
    if not found.feasible.any():
        return fits_nowhere(view, found), None
    return fits(view, found, rate(ask, found.feasible)), best(ask, found.feasible)
