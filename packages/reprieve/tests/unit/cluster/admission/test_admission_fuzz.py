"""Whatever is sent, admission answers: it never raises, and what it admits it admits again."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.cluster.admission.admitting import EVERY_KIND, ask, create, created, with_value
from tests.unit.cluster.api.rich_pod import RICH_POD

from reprieve.cluster.admission.admission import Operation
from reprieve.model.json import Json

HEAD = ("kind", "apiVersion")

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "x", "1", "-1Gi", "50%", "In", "Exists", "NoExecute", "Never", "a/b/c", "X" * 300]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "key", "spec", "values", "requests", "x"]), inner, max_size=3
        )
    ),
    max_leaves=5,
)


def paths(value: object, before: str = "") -> list[str]:
    """The places in an object that can be corrupted."""
    inside: list[tuple[str, object]] = []
    if isinstance(value, dict):
        inside = [(name, below) for name, below in value.items() if "." not in name and name not in HEAD]
    elif isinstance(value, list):
        inside = [(str(i), below) for i, below in enumerate(value)]
    found = [(f"{before}.{step}".removeprefix("."), below) for step, below in inside]
    return [path for path, _ in found] + [deep for path, below in found for deep in paths(below, path)]


ADMITTED = [created(body) for body in (*EVERY_KIND, RICH_POD, RICH_POD)]


@st.composite
def corrupted(draw: st.DrawFn) -> tuple[Json, Json]:
    """A stored object, and what became of it."""
    stored = draw(st.sampled_from(ADMITTED))
    body = stored
    for _ in range(draw(st.integers(1, 3))):
        body = with_value(body, draw(st.sampled_from(paths(body) or ["spec"])), draw(VALUES))
    return stored, body


@settings(max_examples=600, deadline=None)
@given(corrupted())
def test_what_is_admitted_is_admitted_again_and_nothing_raises(things: tuple[Json, Json]) -> None:
    _, body = things
    answer = create(body)
    if isinstance(answer, dict):
        assert create(answer) == answer


@settings(max_examples=600, deadline=None)
@given(corrupted(), st.sampled_from(["", "status", "resize"]), st.booleans())
def test_no_update_raises(things: tuple[Json, Json], part: str, backwards: bool) -> None:
    """Nor if what is stored is the broken one."""
    stored, body = reversed(things) if backwards else things
    part = part if body["kind"] == "Pod" else ""
    answer = ask(Operation.UPDATE, body, old=stored, subresource=part)
    if isinstance(answer, dict) and not backwards:
        assert ask(Operation.UPDATE, answer, old=answer, subresource=part) == answer
