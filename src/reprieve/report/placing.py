"""Where can a pod go, why there, and why not elsewhere?

Says in sentences and small tables what a survey and its ratings hold. Decides nothing.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.place import Ratings, Survey
from reprieve.report.text import BLANK, Line, Tone, amount, counted, indented, listed, table

RATED_NODES_SHOWN = 5


def pod_heading(view: Snapshot, pod: int) -> Line:
    """Who asks, and for how much."""
    compiled = view.pods.compiled[pod]
    meta, asked = compiled.pod.metadata, compiled.weight.desired
    amounts = ", ".join(f"{name} {amount(name, number)}" for name, number in asked.items() if number)
    return Line(f"Pod {meta.namespace}/{meta.name} asks for {amounts or 'no resources'}", Tone.HEADING)


def fits(view: Snapshot, found: Survey, ratings: Ratings) -> list[Line]:
    """A pod has a place: which nodes would do, which is best and by what, and why not the others."""
    names = view.nodes.names
    order = best_first(view, found, ratings)
    lines = [Line(f"It fits on {len(order)} of {counted(len(names), 'node')} and goes to {names[order[0]]}.")]
    lines[0] = Line(lines[0].text, Tone.GOOD)
    if len(order) > 1:
        lines += [Line(_comparison(view, ratings, order)), BLANK, *_ratings(view, ratings, order)]
    if len(order) < len(names):
        refused = counted(len(names) - len(order), "node")
        lines += [BLANK, Line(f"Why not on the other {refused}:"), *reasons(view, found)]
    return indented(lines)


def fits_nowhere(view: Snapshot, found: Survey) -> list[Line]:
    """A pod has no place: why not, and whether eviction might change that."""
    total = len(view.nodes)
    if not total:
        return indented([Line("It cannot go anywhere: there is no node.", Tone.BAD)])
    verdict = Line(f"It fits on none of {counted(total, 'node')}.", Tone.BAD)
    return indented([verdict, Line(_hope(view, found.curable())), BLANK, *reasons(view, found)])


def _hope(view: Snapshot, curable: Mask) -> str:
    if not curable.any():
        return "Evicting pods would help on none of them."
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
    by = max(
        ratings.parts,
        key=lambda preference: ratings.parts[preference][best] - ratings.parts[preference][second],
    )
    return f"It beats {runner_up} by {counted(lead, 'point')}, above all for {by}."


def _ratings(view: Snapshot, ratings: Ratings, order: Sequence[int]) -> list[Line]:
    """A row for each preference, a column for each of the best nodes: weighted scores."""
    shown = order[:RATED_NODES_SHOWN]
    header = ["SCORES", *(view.nodes.names[row] for row in shown)]
    scores = [*ratings.parts.items(), ("total", ratings.total)]
    rows = [[str(name), *(str(column[row]) for row in shown)] for name, column in scores]
    return table(header, rows, numbers=range(1, len(header)))


# --- why not -------------------------------------------------------------------------------------


def reasons(view: Snapshot, found: Survey) -> list[Line]:
    """How many nodes were refused for each reason, the most frequent first."""
    refused = [(named(view, r.rows), r) for r in found.rejections if r.rows.any()]
    refused.sort(key=lambda pair: (-len(pair[0]), pair[1].reason))
    rows = [
        [str(len(nodes)), r.reason.text, "may help" if r.curable else "no use", listed(nodes)]
        for nodes, r in refused
    ]
    return table(["NODES", "WHY NOT", "EVICTION", "WHICH"], rows, numbers=[0])
