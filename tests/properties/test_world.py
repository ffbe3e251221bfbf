"""The mirror of the cluster: told event by event, it shows what one built afresh shows, caches included."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE, Profile, Strategy
from reprieve.scheduler.mirror import growable_columns, world
from tests.properties.described import described
from tests.properties.mirrored import GROUPS, Mirrored, key_of, mirrored
from tests.properties.vocabulary import GPU, MANY_RESOURCES, NAMESPACES
from tests.properties.worlds import FEATURES

SEEDS = st.integers(0, 2**32 - 1)
FAMILIES = {"all": FEATURES, "volumes": frozenset({"volumes"}), "company": frozenset({"pods", "spread"})}
PROFILES = (
    DEFAULT_PROFILE,
    Profile(
        strategy=Strategy.MOST_ALLOCATED,
        strategy_resources=MANY_RESOURCES,
        balanced_resources=MANY_RESOURCES,
        waived=frozenset({"TaintToleration"}),
        ignored_resources=frozenset({GPU}),
    ),
)
Rounds = list[list[int]]
# Between two rounds the mirror is looked at, so that its caches are filled and later have to be patched.
ROUNDS = st.lists(st.lists(SEEDS, min_size=1, max_size=8), min_size=2, max_size=8)


@pytest.fixture(autouse=True, scope="module")
def _tidy_interners() -> Iterator[None]:
    """Small worlds make little garbage: here it is collected as soon as there is any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growable_columns, "_GARBAGE_WORTH_COLLECTING", 1)
        yield


@pytest.mark.parametrize("features", FAMILIES.values(), ids=FAMILIES)
@given(SEEDS, ROUNDS)
def test_a_mirror_equals_a_snapshot_built_afresh(features: frozenset[str], seed: int, rounds: Rounds) -> None:
    now = mirrored(seed, features)
    for seeds in rounds:
        assert described(now.mirror.snapshot()) == described(now.built())
        now.go_through(seeds)
    assert described(now.mirror.snapshot()) == described(now.built())


@given(SEEDS, ROUNDS)
def test_a_pod_is_placed_as_without_caches(seed: int, rounds: Rounds) -> None:
    now = mirrored(seed)
    for seeds in rounds:
        view = now.mirror.snapshot()
        bare = view.copy()
        for row, profile in itertools.product(view.pods.rows.values(), PROFILES):
            cached, afresh = (place(pod_demand(v, row, profile), v, profile) for v in (view, bare))
            assert _nodes(cached) == _nodes(afresh)
        now.go_through(seeds)


def _nodes(found: Placement | Unplaceable) -> tuple[int, ...]:
    return found.nodes if isinstance(found, Placement) else ()


@given(SEEDS, ROUNDS)
def test_the_members_of_a_group_are_known(seed: int, rounds: Rounds) -> None:
    now = mirrored(seed)
    for seeds in rounds:
        now.go_through(seeds)
        for namespace, group in itertools.product(NAMESPACES, GROUPS):
            assert now.mirror.groups.members((namespace, group)) == now.members(namespace, group)


@given(SEEDS, ROUNDS)
def test_a_copy_outlives_what_happens_later(seed: int, rounds: Rounds) -> None:
    now = mirrored(seed)
    copies = []
    for seeds in rounds:
        copy = now.mirror.snapshot().copy()
        copies.append((copy, described(now.built())))
        now.go_through(seeds)
    for copy, then in copies:
        assert described(copy) == then
    assert described(now.mirror.snapshot()) == described(now.built()), "a copy touches nothing it came from"


@given(SEEDS, ROUNDS)
def test_nothing_is_left_when_all_is_gone(seed: int, rounds: Rounds) -> None:
    now = mirrored(seed)
    for seeds in rounds:
        now.go_through(seeds)
    for thing in list(now.objects.values()):
        now.lose(thing)
    for step in list(now.steps.values()):
        now.release(step)
    assert_empty(now)
    for thing in [*now.unseen, *now.past]:
        if key_of(thing) not in now.objects:
            now.show(thing)
    assert described(now.mirror.snapshot()) == described(now.built())


def assert_empty(now: Mirrored) -> None:
    view = now.mirror.snapshot()
    assert described(view) == described(now.built())
    assert not view.pods.rows
    assert not len(view.nodes)
    assert len(view.pods.labels.things) <= 2, "a little garbage may stay"
    for relation in (view.pods.ports, view.pods.affinity, view.pods.claims, view.pods.disks):
        assert not len(relation)
        assert len(relation.things) <= 1


# --- resources that come and go ------------------------------------------------------------------

NAMES = [f"example.com/r{i}" for i in range(9)]
AMOUNTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from("012"), max_size=4)
APPEARANCES = st.tuples(
    st.sampled_from(("Pod", "Node")), st.integers(0, 2), st.none() | AMOUNTS, st.booleans()
)


def appearance(kind: str, number: int, amounts: dict[str, str]) -> Json:
    """A pod on a node, or a node, by its number."""
    meta = {"name": f"{kind.lower()}{number}", "uid": f"{kind}-{number}"}
    thing: Json = {"apiVersion": "v1", "kind": kind, "metadata": meta}
    if kind == "Node":
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "9", **amounts}
        return thing | {"spec": {}, "status": {"allocatable": allocatable}}
    meta["namespace"] = "default"
    container = {"name": "c", "resources": {"requests": {"cpu": "1", **amounts}}}
    spec = {"nodeName": f"node{number}", "containers": [container]}
    return thing | {"spec": spec, "status": {"phase": "Running"}}


@given(st.lists(APPEARANCES, max_size=30))
def test_whichever_resources_are_forgotten_all_amounts_count(
    steps: list[tuple[str, int, dict[str, str] | None, bool]],
) -> None:
    """A few names are many here. Some objects come together, so that columns are not written in between."""
    now = Mirrored()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "_MANY_RESOURCES", 4)
        for kind, number, amounts, looks in steps:
            known = now.objects.get(key_of(appearance(kind, number, {})))
            if amounts is not None:
                now.show(appearance(kind, number, amounts))
            elif known is not None:
                now.lose(known)
            if looks:
                assert described(now.mirror.snapshot()) == described(now.built())
    assert described(now.mirror.snapshot()) == described(now.built())
