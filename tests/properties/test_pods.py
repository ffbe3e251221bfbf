"""Inter-pod affinity on columns equals its plain reading, for every pod of a world and after moves."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import moved
from reprieve.placement.constraints.pods import pod_affinity
from reprieve.placement.demand import Ask
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.scoring import pod_affinity_score as score
from tests.properties.worlds import World, built, worlds
from tests.reference.plain import pods as plain

CURABLE = {Code.POD_AFFINITY: False, Code.POD_ANTI_AFFINITY: True, Code.EXISTING_ANTI_AFFINITY: True}
WORLDS = worlds(frozenset({"pods"}))
PROFILES = st.builds(
    Profile,
    hard_pod_affinity_weight=st.sampled_from((0, 1, 100)),
    ignore_preferences_of_existing_pods=st.booleans(),
)


def cluster_without(view: Snapshot, pod: int) -> plain.Cluster:
    nodes = view.nodes.objects
    placed = [
        (compiled.pod, nodes[node])
        for row, (compiled, node) in enumerate(zip(view.pods.compiled, view.where, strict=True))
        if node != NOWHERE and row != pod
    ]
    return plain.Cluster(list(nodes), placed, view.namespaces.labels)


def reasons_on_columns(view: Snapshot, pod: int) -> list[list[tuple[Code, bool]]]:
    rejections = list(pod_affinity(Ask(view, pod)))
    return [
        [(r.reason.code, r.curable) for r in rejections if r.rows[node]] for node in range(len(view.nodes))
    ]


def plain_reasons(view: Snapshot, pod: int) -> list[list[tuple[Code, bool]]]:
    cluster = cluster_without(view, pod)
    newcomer = view.pods.compiled[pod].pod
    codes = [plain.refusal(cluster, newcomer, node) for node in cluster.nodes]
    return [[] if code is None else [(code, CURABLE[code])] for code in codes]


def shuffled(view: Snapshot, rng: random.Random) -> Snapshot:
    """Some pods elsewhere, some gone, some that waited now running."""
    rows = np.flatnonzero([rng.random() < 0.4 for _ in range(len(view.pods))])
    homes = np.array([rng.randrange(NOWHERE, len(view.nodes)) for _ in rows], np.int64)
    return moved(view, rows, homes)


@given(WORLDS, st.randoms(use_true_random=False))
def test_refusals_equal_the_plain_reading(world: World, rng: random.Random) -> None:
    base, _ = built(world)
    for view in (base, shuffled(base, rng)):
        for pod in range(len(view.pods)):
            assert reasons_on_columns(view, pod) == plain_reasons(view, pod)


@given(WORLDS, PROFILES, st.randoms(use_true_random=False))
def test_scores_equal_the_plain_reading(world: World, profile: Profile, rng: random.Random) -> None:
    base, _ = built(world)
    for view in (base, shuffled(base, rng)):
        feasible = np.array([rng.random() < 0.7 for _ in range(len(view.nodes))])
        feasible[rng.randrange(len(feasible))] = True
        for pod in range(len(view.pods)):
            ask = Ask(view, pod, profile)
            assert scores_on_columns(ask, feasible) == plain_scores(ask, feasible)


def scores_on_columns(ask: Ask, feasible: Mask) -> list[int]:
    scores = score(ask, feasible)
    rows = np.flatnonzero(feasible)
    return [0 if scores is None else int(scores[row]) for row in rows]


def plain_scores(ask: Ask, feasible: Mask) -> list[int]:
    nodes = [ask.view.nodes.objects[row] for row in np.flatnonzero(feasible)]
    newcomer = ask.view.pods.compiled[ask.pod].pod
    return plain.scores(cluster_without(ask.view, ask.pod), newcomer, nodes, ask.profile)
