"""Topology spread on columns equals its plain reading, for every pod of a world and after moves."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import moved
from reprieve.placement.constraints.spread import spread
from reprieve.placement.demand import Ask
from reprieve.placement.profile import DefaultSpread, Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.scoring import spread_score as score
from tests.properties.vocabulary import TOPOLOGY_KEYS
from tests.properties.worlds import World, built, worlds
from tests.reference.plain import spread as plain

CURABLE = {Code.SPREAD_LABEL_MISSING: False, Code.SPREAD_SKEW: True}
WORLDS = worlds(frozenset({"node", "spread"}))
DEFAULTS = st.lists(
    st.builds(
        DefaultSpread,
        topology_key=st.sampled_from(TOPOLOGY_KEYS),
        max_skew=st.integers(1, 3),
        required=st.booleans(),
        min_domains=st.integers(1, 4),
        honors_affinity=st.booleans(),
        honors_taints=st.booleans(),
    ),
    max_size=3,
)
PROFILES = st.just(Profile()) | st.builds(
    Profile, default_spread=DEFAULTS.map(tuple), system_default_spread=st.just(False)
)


def cluster_without(view: Snapshot, pod: int) -> plain.Cluster:
    nodes = view.nodes.objects
    placed = [
        (compiled.pod, nodes[node])
        for row, (compiled, node) in enumerate(zip(view.pods.compiled, view.where, strict=True))
        if node != NOWHERE and row != pod
    ]
    services = [service for some in view.owners.services.values() for service in some]
    return plain.Cluster(list(nodes), placed, services, view.owners.controllers)


def shuffled(view: Snapshot, rng: random.Random) -> Snapshot:
    """Some pods elsewhere, some gone, some that waited now running."""
    rows = np.flatnonzero([rng.random() < 0.4 for _ in range(len(view.pods))])
    homes = np.array([rng.randrange(NOWHERE, len(view.nodes)) for _ in rows], np.int64)
    return moved(view, rows, homes)


@given(WORLDS, PROFILES, st.randoms(use_true_random=False))
def test_refusals_equal_the_plain_reading(world: World, profile: Profile, rng: random.Random) -> None:
    base, _ = built(world)
    for view in (base, shuffled(base, rng)):
        for pod in range(len(view.pods)):
            assert reasons_on_columns(view, pod, profile) == plain_reasons(view, pod, profile)


def reasons_on_columns(view: Snapshot, pod: int, profile: Profile) -> list[list[tuple[Code, bool]]]:
    rejections = list(spread(Ask(view, pod, profile)))
    return [
        [(r.reason.code, r.curable) for r in rejections if r.rows[node]] for node in range(len(view.nodes))
    ]


def plain_reasons(view: Snapshot, pod: int, profile: Profile) -> list[list[tuple[Code, bool]]]:
    cluster, newcomer = cluster_without(view, pod), view.pods.compiled[pod].pod
    codes = [plain.refusal(cluster, newcomer, node, profile) for node in cluster.nodes]
    return [[] if code is None else [(code, CURABLE[code])] for code in codes]


@given(WORLDS, PROFILES, st.randoms(use_true_random=False))
def test_scores_equal_the_plain_reading(world: World, profile: Profile, rng: random.Random) -> None:
    base, _ = built(world)
    for view in (base, shuffled(base, rng)):
        feasible = np.array([rng.random() < 0.7 for _ in range(len(view.nodes))])
        for pod in range(len(view.pods)):
            expected = plain_scores(view, pod, feasible, profile)
            assert scores_on_columns(view, pod, feasible, profile) == expected


def scores_on_columns(view: Snapshot, pod: int, feasible: Mask, profile: Profile) -> dict[str, int] | None:
    scores = score(Ask(view, pod, profile), feasible)
    if scores is None:
        return None
    return {view.nodes.names[row]: int(scores[row]) for row in np.flatnonzero(feasible)}


def plain_scores(view: Snapshot, pod: int, feasible: Mask, profile: Profile) -> dict[str, int] | None:
    nodes = [view.nodes.objects[row] for row in np.flatnonzero(feasible)]
    return plain.scores(cluster_without(view, pod), view.pods.compiled[pod].pod, nodes, profile)
