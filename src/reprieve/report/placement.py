"""Where can a pod go, why there, and why not elsewhere?

Says in sentences and small tables what a survey and its ratings hold. Decides nothing.
"""

from collections.abc import Sequence

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.place import Ratings, Survey
from reprieve.placement.profile import Preference
from reprieve.placement.reasons import Reason
from reprieve.report.text_layout import BLANK, LineStyle, TextLine, amount, counted, indented, listed, table

RATED_NODES_SHOWN = 5
DESCRIPTION = "kubernetes.io/description"

_MEANINGS = {
    Preference.RESOURCES: "how full the node is",
    Preference.BALANCE: "how evenly its resources are used",
    Preference.TAINTS: "taints that would rather not have the pod",
    Preference.NODE_AFFINITY: "labels the pod prefers",
    Preference.PODS: "pods that want to be near each other, or apart",
    Preference.SPREAD: "how evenly such pods are spread",
    Preference.IMAGES: "images that are there already",
}


def pod_heading(view: Snapshot, pod: int) -> list[TextLine]:
    """Who asks, for how much, and what its owner says about it."""
    compiled = view.pods.compiled[pod]
    meta, asked = compiled.pod.metadata, compiled.weight.desired
    amounts = ", ".join(f"{name} {amount(name, number)}" for name, number in asked.items() if number)
    who = TextLine(
        f"Pod {meta.namespace}/{meta.name} asks for {amounts or 'no resources'}", LineStyle.HEADING
    )
    description = meta.annotations.get(DESCRIPTION)
    return [who, *indented([TextLine(f'"{description}"', LineStyle.FAINT)])] if description else [who]


def fits(view: Snapshot, found: Survey, ratings: Ratings) -> list[TextLine]:
    """A pod has a place: which nodes would do, which is best and by what, and why not the others."""
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
    """A pod has no place: why not, and whether eviction might change that."""
    total = len(view.nodes)
    if not total:
        return indented([TextLine("It cannot go anywhere: there is no node.", LineStyle.BAD)])
    where = f"It fits on none of the {total} nodes." if total > 1 else "It does not fit on the only node."
    return indented(
        [TextLine(where, LineStyle.BAD), TextLine(_hope(view, found.curable())), BLANK, *reasons(view, found)]
    )


def held_back(gates: Sequence[str], unserved: Sequence[str]) -> list[TextLine]:
    """A pod may not be placed at all."""
    why = [f"its scheduling gate {gate} is still there" for gate in gates]
    why += [f"it uses {path}, which Reprieve does not serve" for path in unserved]
    return indented([TextLine(f"It has to wait: {'; '.join(why)}.", LineStyle.BAD)])


def _hope(view: Snapshot, curable: Mask) -> str:
    if not curable.any():
        return "Evicting pods would not help."
    return f"Evicting pods might make room on {listed(named(view, curable))}."


def named(view: Snapshot, rows: Mask) -> list[str]:
    return sorted(view.nodes.names[row] for row in np.flatnonzero(rows))


# --- why there -----------------------------------------------------------------------------------


def best_first(view: Snapshot, found: Survey, ratings: Ratings) -> list[int]:
    rows = np.flatnonzero(found.feasible)
    order = np.lexsort((view.nodes.rank[rows], -ratings.total[rows]))
    return [int(row) for row in rows[order]]


def _comparison(view: Snapshot, ratings: Ratings, order: Sequence[int]) -> str:
    """What sets the best node apart from the next."""
    best, second = order[:2]
    runner_up = view.nodes.names[second]
    lead = int(ratings.total[best] - ratings.total[second])
    if not lead:
        return f"{runner_up} is as good; of equals the first by name is taken."
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
    """How many nodes were refused for each reason, the most frequent first; a node may have several."""
    refused: dict[Reason, Mask] = {}
    for rejection in found.rejections:
        if rejection.rows.any():
            refused[rejection.reason] = rejection.rows | refused.get(rejection.reason, False)
    order = sorted(refused, key=lambda reason: (-refused[reason].sum(), reason))
    rows = [[*_reason_cells(view, refused[reason], found.curable()), reason.text] for reason in order]
    return table(["NODES", "WHICH", "EVICTION", "WHY NOT"], rows, numbers=[0])


def _reason_cells(view: Snapshot, rows: Mask, curable: Mask) -> tuple[str, str, str]:
    """A node that has another reason which eviction does not cure is beyond help for this one too."""
    helped = int((rows & curable).sum())
    share = "no use" if not helped else "may help" if helped == rows.sum() else f"may help {helped}"
    return str(rows.sum()), listed(named(view, rows)), share
