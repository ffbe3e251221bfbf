"""Putting the same question to the columns and to the plain reading."""

from collections.abc import Mapping

import numpy as np

from reprieve.model.objects import Node, Pod
from reprieve.placement.demand import Ask, Constraint, Scorer
from reprieve.placement.place import survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from tests.properties.worlds import World, built, decoded
from tests.reference.plain.cluster import Cluster, PlainConstraint, Refusals, refusals_by_node
from tests.reference.plain.scores import PlainScore, Scores


def ask_of(world: World, profile: Profile = DEFAULT_PROFILE) -> Ask:
    view, newcomer = built(world)
    return Ask(view, newcomer, profile)


def cluster_of(world: World) -> Cluster:
    newcomer = decoded(world.newcomer)
    assert isinstance(newcomer, Pod)
    return Cluster(tuple(map(decoded, world.objects)), newcomer)


def refusals(ask: Ask, constraint: Constraint) -> Mapping[str, Refusals]:
    found = list(constraint(ask))
    return {
        name: {(rejection.reason, rejection.curable) for rejection in found if rejection.rows[row]}
        for row, name in enumerate(ask.view.nodes.names)
    }


def assert_same_refusals(world: World, constraint: Constraint, plain: PlainConstraint) -> None:
    assert refusals(ask_of(world), constraint) == refusals_by_node(cluster_of(world), plain)


def assert_same_scores(
    world: World, scorer: Scorer, plain: PlainScore, profile: Profile = DEFAULT_PROFILE
) -> None:
    """Among the nodes that are feasible, and, as if they were, among all and among every other one."""
    ask = ask_of(world, profile)
    cluster = cluster_of(world)
    rows = np.arange(len(ask.view.nodes))
    for feasible in (survey(ask).feasible, rows >= 0, rows % 2 == 1):
        nodes = [node for node, fits in zip(ask.view.nodes.objects, feasible, strict=True) if fits]
        scores = scorer(ask, feasible)
        by_name = None
        if scores is not None:
            by_name = {n: int(scores[row]) for row, n in enumerate(ask.view.nodes.names) if feasible[row]}
        assert _or_level(by_name, nodes) == _or_level(plain(cluster, nodes, profile), nodes)


def _or_level(scores: Scores | None, nodes: list[Node]) -> Scores:
    """Relative to the worst node: a preference that likes all nodes alike is as good as none."""
    if scores is None:
        return dict.fromkeys((node.metadata.name for node in nodes), 0)
    lowest = min(scores.values(), default=0)
    return {name: score - lowest for name, score in scores.items()}
