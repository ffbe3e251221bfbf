"""Everything the core says about a pod, by names instead of rows, so that two answers can be compared."""

import random

from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey
from reprieve.placement.rating import best, rate
from tests.properties.worlds import World


def answer(view: Snapshot, pod: int) -> Json:
    """For each node why not or how good, and which one is chosen."""
    ask = Ask(view, pod)
    found = survey(ask)
    curable = found.curable()
    nodes: Json = {}
    for row, name in enumerate(view.nodes.names):
        reasons = [f"{reason.code} {reason.detail}" for reason in found.reasons_of(row)]
        nodes[name] = {"reasons": reasons, "curable": bool(curable[row])}
    if not found.feasible.any():
        return {"nodes": nodes, "chosen": None}
    ratings = rate(ask, found.feasible)
    for row, name in enumerate(view.nodes.names):
        if found.feasible[row]:
            parts = {str(preference): int(scores[row]) for preference, scores in ratings.parts.items()}
            nodes[name] = {"total": int(ratings.total[row]), **parts}
    return {"nodes": nodes, "chosen": view.nodes.names[best(ask, found.feasible)]}


def answers(view: Snapshot) -> Json:
    """The same for every pod there is, as if it looked for another place."""
    return {f"{space}/{name}": answer(view, row) for (space, name), row in view.pods.rows.items()}


def shuffled(world: World, seed: int) -> World:
    objects = list(world.objects)
    random.Random(seed).shuffle(objects)
    return World(objects, world.newcomer)
