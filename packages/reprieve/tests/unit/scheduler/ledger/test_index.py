"""Look-ups that go the other way: any number of values under a key, and no key without a value."""

import pytest

from reprieve.scheduler.ledger.index import Index


def index_of(*pairs: tuple[str, int]) -> Index[str, int]:
    index: Index[str, int] = Index()
    for key, value in pairs:
        index.add(key, value)
    return index


def test_any_number_of_values_may_be_under_a_key() -> None:
    index = index_of(("a", 1), ("b", 1), ("b", 2), ("b", 2), ("b", 3))
    assert [index.under(key) for key in "abc"] == [{1}, {1, 2, 3}, set()]
    assert list(index) == ["a", "b"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_key_is_forgotten_with_its_last_value(count: int) -> None:
    index = index_of(*(("a", value) for value in range(count)))
    for value in range(count):
        assert "a" in index
        index.remove("a", value)
    assert "a" not in index
    assert list(index) == []


@pytest.mark.parametrize("values", [(1,), (1, 2)])
def test_what_is_not_there_cannot_be_removed(values: tuple[int, ...]) -> None:
    index = index_of(*(("a", value) for value in values))
    with pytest.raises(KeyError):
        index.remove("a", 9)
    assert index.under("a") == set(values)


def test_any_of_many_values() -> None:
    index = index_of(("a", 1), ("a", 2))
    assert (index.any_under("a") in (1, 2), index.any_under("b")) == (True, None)


def test_a_value_that_is_added_twice_is_there_once() -> None:
    index = index_of(("a", 1), ("a", 1))
    index.remove("a", 1)
    assert "a" not in index
