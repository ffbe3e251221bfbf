"""Pods are placed one by one, and each result is explained: where a pod fits, why there, or why nowhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from reprieve.cli.terminal import show_fitting as show
from reprieve.cluster.api.codec import unserved_fields
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.columns import Mask
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot, build
from reprieve.model.whatif import with_pod
from reprieve.placement.demand import Ask
from reprieve.placement.place import Survey, survey
from reprieve.placement.profile import Preference
from reprieve.placement.rating import Ratings, best, rate
from reprieve.placement.rejection_codes import Reason
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, amount, counted, indented, listed, table
from reprieve_minicluster.scenes import ScenePacing, path_of
from reprieve_minicluster.scenes.tables import node_table

FILE = "cluster.yaml"
BUILT_IN = resources.files("reprieve_minicluster") / "demo" / FILE


def play(pace: ScenePacing, command: str) -> None:
    show(introduction(command))
    place_all(set_scene(), pace)


# --- which pods, and in which cluster ------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PlacementScene:
    view: Snapshot
    pending: tuple[int, ...]  # rows of pods


def set_scene() -> PlacementScene:
    files = [parse_objects(BUILT_IN.read_bytes(), FILE)]
    objects = [one.object for one in decoded(cluster_in(files, now=0.0)).seen]
    view = build(objects).snapshot
    return PlacementScene(view=view, pending=pending(view, objects))


def pending(view: Snapshot, objects: Iterable[KubernetesObject]) -> tuple[int, ...]:
    keys = dict.fromkeys((o.metadata.namespace, o.metadata.name) for o in objects if isinstance(o, Pod))
    rows = (view.pods.rows[key] for key in keys if key in view.pods.rows)
    return tuple(row for row in rows if is_pending(view.pods.compiled[row]))


def is_pending(compiled: CompiledPod) -> bool:
    """Whether a pod is to be placed: it has no node, is not being deleted, and its spec is not malformed."""
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


# --- a survey and its scores in words -------------------------------------------------------------


RATED_NODES_SHOWN = 5
DESCRIPTION = "kubernetes.io/description"

_MEANINGS = {
    Preference.RESOURCES: "how full the node is",
    Preference.BALANCE: "how evenly its resources are used",
    Preference.TAINTS: "untolerated PreferNoSchedule taints",
    Preference.NODE_AFFINITY: "preferred node affinity of the pod",
    Preference.PODS: "preferred pod affinity and anti-affinity",
    Preference.SPREAD: "how evenly matching pods are spread",
    Preference.IMAGES: "images that the node already has",
}


def pod_heading(view: Snapshot, pod: int) -> list[TextLine]:
    """The pod, its requests, and its description if it has one."""
    compiled = view.pods.compiled[pod]
    meta, requests = compiled.pod.metadata, compiled.weight.desired
    amounts = ", ".join(f"{name} {amount(name, number)}" for name, number in requests.items() if number)
    heading = TextLine(
        f"Pod {meta.namespace}/{meta.name} requests {amounts or 'no resources'}", LineStyle.HEADING
    )
    description = meta.annotations.get(DESCRIPTION)
    return [heading, *indented([TextLine(f'"{description}"', LineStyle.FAINT)])] if description else [heading]


def fits(view: Snapshot, found: Survey, ratings: Ratings) -> list[TextLine]:
    """What to say of a pod that fits: which nodes are feasible, which is best, and why not the others."""
    names = view.nodes.names
    order = best_first(view, found, ratings)
    verdict = f"It fits on {len(order)} of {counted(len(names), 'node')} and goes to {names[order[0]]}."
    lines = [TextLine(verdict, LineStyle.GOOD)]
    if len(order) > 1:
        lines += [TextLine(_comparison(view, ratings, order)), BLANK, *_ratings(view, ratings, order)]
    if len(order) < len(names):
        refused = counted(len(names) - len(order), "node")
        lines += [BLANK, TextLine(f"Why not on the other {refused}:"), *reasons(view, found)]
    return indented(lines)


def fits_nowhere(view: Snapshot, found: Survey) -> list[TextLine]:
    """What to say of a pod that fits on no node: why not, and whether preemption might help."""
    total = len(view.nodes)
    if not total:
        return indented([TextLine("It is unschedulable: there is no node.", LineStyle.BAD)])
    where = f"It fits on none of the {total} nodes." if total > 1 else "It does not fit on the only node."
    return indented(
        [TextLine(where, LineStyle.BAD), TextLine(_hope(view, found.curable())), BLANK, *reasons(view, found)]
    )


def held_back(gates: Sequence[str], unserved: Sequence[str]) -> list[TextLine]:
    """What to say of a pod that may not be placed yet, or not by Reprieve."""
    why = [f"its scheduling gate {gate} has not been removed" for gate in gates]
    why += [f"it uses {path}, which Reprieve does not support" for path in unserved]
    return indented([TextLine(f"It has to wait: {'; '.join(why)}.", LineStyle.BAD)])


def _hope(view: Snapshot, curable: Mask) -> str:
    if not curable.any():
        return "Preemption cannot help."
    return f"Preemption might help on {listed(node_names(view, curable))}."


def node_names(view: Snapshot, rows: Mask) -> list[str]:
    return sorted(view.nodes.names[row] for row in np.flatnonzero(rows))


# --- why there -----------------------------------------------------------------------------------


def best_first(view: Snapshot, found: Survey, ratings: Ratings) -> list[int]:
    rows = np.flatnonzero(found.feasible)
    order = np.lexsort((view.nodes.rank[rows], -ratings.total[rows]))
    return [int(row) for row in rows[order]]


def _comparison(view: Snapshot, ratings: Ratings, order: Sequence[int]) -> str:
    """Why the best node wins over the next."""
    best, second = order[:2]
    runner_up = view.nodes.names[second]
    lead = int(ratings.total[best] - ratings.total[second])
    if not lead:
        return f"{runner_up} has the same score; the node whose name comes first wins."
    by = max(ratings.parts, key=lambda p: int(ratings.parts[p][best] - ratings.parts[p][second]))
    return f"It beats {runner_up} by {counted(lead, 'point')}, above all for {by}."


def _ratings(view: Snapshot, ratings: Ratings, order: Sequence[int]) -> list[TextLine]:
    """A row for each preference, a column for each of the best nodes: weighted scores."""
    shown = order[:RATED_NODES_SHOWN]
    header = ["SCORES", *(view.nodes.names[row] for row in shown), ""]
    scores = [(str(p), ratings.parts[p], _MEANINGS[p]) for p in ratings.parts]
    scores.append(("total", ratings.total, ""))
    rows = [[name, *(str(column[row]) for row in shown), meaning] for name, column, meaning in scores]
    return table(header, rows, numbers=range(1, len(shown) + 1))


# --- why not -------------------------------------------------------------------------------------


def reasons(view: Snapshot, found: Survey) -> list[TextLine]:
    """How many nodes were rejected for each reason, the most frequent first; a node may have several."""
    refused: dict[Reason, Mask] = {}
    for rejection in found.rejections:
        if rejection.rows.any():
            refused[rejection.reason] = rejection.rows | refused.get(rejection.reason, False)
    order = sorted(refused, key=lambda reason: (-refused[reason].sum(), reason))
    rows = [[*_reason_cells(view, refused[reason], found.curable()), reason.text] for reason in order]
    return table(["NODES", "WHICH", "PREEMPTION", "WHY NOT"], rows, numbers=[0])


def _reason_cells(view: Snapshot, rows: Mask, curable: Mask) -> tuple[str, str, str]:
    """Preemption cannot help on a node if any one of its reasons cannot be cured by it."""
    helped = int((rows & curable).sum())
    share = "cannot help" if not helped else "may help" if helped == rows.sum() else f"may help {helped}"
    return str(rows.sum()), listed(node_names(view, rows)), share
