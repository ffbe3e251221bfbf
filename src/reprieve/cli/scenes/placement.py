"""Pods are placed one by one, and each result is explained.

The cluster comes with the package. Nothing is decided here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from reprieve.cli.manifests import latest, read_manifest
from reprieve.cli.scenes import ScenePacing, path_of
from reprieve.cli.terminal import show_fitting as show
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

FILE = "cluster.yaml"
BUILT_IN = str(resources.files("reprieve") / "demo" / FILE)


def play(pace: ScenePacing, command: str) -> None:
    show(introduction(command))
    place_all(set_scene(), pace)


# --- which pods, and in which cluster ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PlacementScene:
    view: Snapshot
    pending: tuple[int, ...]  # rows of pods


def set_scene() -> PlacementScene:
    base = read_manifest(BUILT_IN)
    built = build(latest(base.objects))
    return PlacementScene(view=built.snapshot, pending=pending(built.snapshot, base.objects))


def pending(view: Snapshot, objects: Iterable[KubernetesObject]) -> tuple[int, ...]:
    keys = dict.fromkeys((o.metadata.namespace, o.metadata.name) for o in objects if isinstance(o, Pod))
    rows = (view.pods.rows[key] for key in keys if key in view.pods.rows)
    return tuple(row for row in rows if is_pending(view.pods.compiled[row]))


def is_pending(compiled: CompiledPod) -> bool:
    """Without a node, and not being deleted; a pod whose spec is malformed is not placed either."""
    pod = compiled.pod
    terminating = pod.metadata.deletion_timestamp is not None
    return not (pod.spec.node_name or terminating or compiled.problems)


# --- output --------------------------------------------------------------------------------------


def introduction(command: str) -> list[TextLine]:
    return [
        TextLine("Pods are placed in a cluster one by one. The cluster of this scene:"),
        *indented([TextLine(path_of(FILE))]),
        TextLine("For your own: kubectl get nodes,pods -A -o yaml > cluster.yaml"),
        TextLine(f"              {command.removesuffix('demo')}whatif --from cluster.yaml -f pods.yaml"),
        BLANK,
    ]


def place_all(scene: PlacementScene, pace: ScenePacing) -> None:
    """Shows the nodes, the result for each pod, and the nodes in use."""
    view, used = scene.view, []
    show([*node_table(view), BLANK])
    for pod in scene.pending:
        if pod != scene.pending[0]:
            pace.wait("the next pod")
        lines, node = result(view, pod)
        show([*pod_heading(view, pod), *lines, BLANK])
        if node is not None:
            view = with_pod(view, pod, node)
            used.append(node)
    show([TextLine(f"{len(used)} of {counted(len(scene.pending), 'pod')} placed.")])
    if used:
        show([BLANK, *node_table(view, used)])


def result(view: Snapshot, row: int) -> tuple[list[TextLine], int | None]:
    """The explanation for a pod, and its node if it fits."""
    pod = view.pods.compiled[row].pod
    gates = [gate.name for gate in pod.spec.scheduling_gates]
    if gates or unserved_fields(pod):
        return held_back(gates, unserved_fields(pod)), None
    ask = Ask(view, row)
    found = survey(ask)
    if not found.feasible.any():
        return fits_nowhere(view, found), None
    return fits(view, found, rate(ask, found.feasible)), best(ask, found.feasible)
