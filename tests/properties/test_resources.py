"""How much: quantities, requests and room, columns against the plain reading."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from reprieve.model import resources as model
from reprieve.model.footprint import footprint
from reprieve.model.objects import Pod, ref_of
from reprieve.placement.constraints import resources
from reprieve.placement.profile import Profile
from tests.properties.agreement import (
    ask_of,
    assert_same_refusals,
    cluster_of,
    refusals,
)
from tests.properties.vocabulary import GPU
from tests.properties.worlds import World, worlds
from tests.reference.plain import quantities, requests
from tests.reference.plain import resources as plain
from tests.reference.plain.cluster import refusals_by_node

WORLDS = worlds(frozenset({"resources"}))

NUMBERS = st.from_regex(r"[+-]?(\d{1,12}(\.\d{0,6})?|\.\d{1,6})", fullmatch=True, alphabet="+-.0123456789")
EXPONENTS = st.from_regex(r"[eE][+-]?[0-5]?\d", fullmatch=True, alphabet="eE+-0123456789")


@given(NUMBERS, st.sampled_from(sorted(quantities.SUFFIXES)) | EXPONENTS)
def test_quantities(number: str, suffix: str) -> None:
    read = model.milli(number + suffix)
    value = quantities.exact(number + suffix) * 1000
    assert read is not None
    if value >= 0:
        assert value <= read < value + 1
    else:
        assert value - 1 < read <= value, "a negative amount is not rounded to nothing"


@given(WORLDS)
def test_requests(world: World) -> None:
    for pod in (p for p in cluster_of(world).objects if isinstance(p, Pod)):
        weight = footprint(pod, model.Problems(ref_of(pod)))
        floored = {"cpu": weight.nonzero_cpu, "memory": weight.nonzero_memory}
        assert weight.charged == requests.requests(pod)
        assert floored == requests.nonzero_requests(pod)


@given(WORLDS)
def test_room(world: World) -> None:
    assert_same_refusals(world, resources.resources, plain.resources)


@given(WORLDS, st.sampled_from(["resource", "group"]))
def test_room_where_another_client_looks_after_devices(world: World, ignored: str) -> None:
    profile = Profile(
        ignored_resources=frozenset({GPU} if ignored == "resource" else ()),
        ignored_resource_groups=frozenset({"example.com"} if ignored == "group" else ()),
    )
    found = refusals(ask_of(world, profile), resources.resources)
    assert found == refusals_by_node(cluster_of(world), partial(plain.resources, ignored={GPU: True}))
