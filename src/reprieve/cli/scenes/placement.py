"""Pods are placed one by one, and each result is explained.

The cluster comes with the package, or from the user. Nothing is decided here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

from reprieve.cli.manifests import latest, read_manifest
from reprieve.cli.scenes import ScenePacing
from reprieve.cli.terminal import show
from reprieve.cluster.api.pod_fields import unserved_fields
from reprieve.model.objects import KubernetesObject, Pod, ref_of
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.model.snapshot_builder import build
from reprieve.model.whatif import with_pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import best, rate, survey
from reprieve.report.nodes import node_table
from reprieve.report.placement import fits, fits_nowhere, held_back, pod_heading
from reprieve.report.text_layout import BLANK, TextLine, counted, indented

BUILT_IN = str(resources.files("reprieve") / "demo" / "cluster.yaml")


def play(pace: ScenePacing, command: str) -> None:
    show(introduction(command))
    place_all(set_scene(None, ()), pace)


# --- which pods, and in which cluster ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PlacementScene:
    view: Snapshot
    pending: tuple[int, ...]  # rows of pods
    errors: tuple[str, ...]


def set_scene(cluster: str | None, filenames: Sequence[str]) -> PlacementScene:
    base, *more = manifests = [read_manifest(name) for name in (cluster or BUILT_IN, *filenames)]
    added = [thing for one in more for thing in one.objects]
    built = build(latest([*base.objects, *added]))
    # A dump of a cluster may have any kinds of objects; a file of pods to place should not.
    malformed = [*base.malformed, *(s for one in more for s in (*one.malformed, *one.unknown))]
    files = {ref_of(thing): one.filename for one in manifests for thing in one.objects}
    return PlacementScene(
        view=built.snapshot,
        pending=pending(built.snapshot, added if filenames else base.objects),
        errors=(*malformed, *(f"{files[problem.ref]}: {problem}" for problem in built.problems)),
    )


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
        *indented([TextLine(BUILT_IN)]),
        TextLine("For your own: kubectl get nodes,pods -A -o yaml > cluster.yaml"),
        TextLine(f"              {command} --cluster cluster.yaml -f pods.yaml"),
        BLANK,
    ]


def place_all(scene: PlacementScene, pace: ScenePacing) -> bool:
    """Shows the nodes, the result for each pod, and the nodes in use; returns whether all pods fit."""
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
    return len(used) == len(scene.pending)


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
