"""Values of which some part is not what it should be."""

from typing import Any

from hypothesis import strategies as st

WRONG: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        5,
        -1,
        2**63,
        2**70,
        1.5,
        1e300,
        "x",
        "",
        [],
        {},
        [None],
        [5],
        [["x"]],
        {"name": ["x"]},
        [{}],
        True,
    ]
)


@st.composite
def maybe_malformed(draw: st.DrawFn, sound: st.SearchStrategy[Any]) -> Any:
    """A value of which sometimes one part, at any depth, is something else."""
    return corrupted(draw, draw(sound)) if draw(st.integers(0, 3)) == 0 else draw(sound)


def corrupted(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 3)) == 0:
        return draw(WRONG)
    if isinstance(value, list):
        i = draw(st.integers(0, len(value) - 1))
        return [*value[:i], corrupted(draw, value[i]), *value[i + 1 :]]
    name = draw(st.sampled_from(sorted(value)))
    return {**value, name: corrupted(draw, value[name])}
