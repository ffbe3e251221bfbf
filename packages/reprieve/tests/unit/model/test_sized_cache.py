"""A cache of users' texts never holds more than its bounds, in entries and in size."""

from reprieve.model.resources import milli
from reprieve.model.sized_cache import SizedCache, cached_by_text


def test_a_cache_starts_over_before_it_has_too_many_entries() -> None:
    cache: SizedCache[str, int] = SizedCache(entries=2, size=100)
    for number, key in enumerate("abc"):
        cache.put(key, number)
    assert [cache.get(key) for key in "abc"] == [None, None, 2]


def test_a_cache_starts_over_before_its_keys_are_too_large() -> None:
    cache: SizedCache[str, int] = SizedCache(entries=100, size=10)
    cache.put("x" * 8, 1)
    cache.put("y" * 3, 2)
    assert "x" * 8 not in cache
    assert cache["y" * 3] == 2


def test_a_function_is_called_once_for_a_text_also_if_it_returns_none() -> None:
    calls: list[str] = []

    @cached_by_text(entries=10, size=100)
    def nothing(text: str) -> None:
        calls.append(text)

    for text in "aab":
        nothing(text)
    assert calls == ["a", "b"]


def test_a_cache_that_another_thread_empties_meanwhile() -> None:
    """The answer is what was computed, whatever is left of the cache."""

    @cached_by_text(entries=1, size=100)
    def length(text: str) -> int:
        if text == "long":
            length("other")  # as another thread would: it takes the only place
        return len(text)

    assert [length("long"), length("other"), length("long")] == [4, 5, 4]


def test_a_quantity_of_any_length_has_an_answer() -> None:
    assert milli("1" * 1000 + "0") is None
    assert milli("0" * 999 + "1") == 1000
    assert milli("x" * 1_000_000) is None
