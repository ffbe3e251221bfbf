"""Columns that grow: they show what was put in, codes stay right when garbage is collected."""

import numpy as np
import pytest

from reprieve.scheduler.mirror import growable_columns
from reprieve.scheduler.mirror.growable_columns import (
    GrowingColumn,
    GrowingRelation,
    Interner,
    grown,
    published,
)


@pytest.fixture
def tidy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage is collected as soon as it is most of what there is."""
    monkeypatch.setattr(growable_columns, "_GARBAGE_WORTH_COLLECTING", 0)


def shown(column: GrowingColumn[str], size: int) -> list[str]:
    view = column.view(size)
    return [view[row] for row in range(size)]


def pairs(relation: GrowingRelation[str]) -> set[tuple[int, str]]:
    view = relation.view()
    return {(int(row), view.things[int(code)]) for row, code in zip(view.rows, view.codes, strict=True)}


# --- room ----------------------------------------------------------------------------------------


def test_there_is_always_room_and_what_is_new_is_filled() -> None:
    array = grown(np.array([[1, 2], [3, 4]], np.int64), 3, fill=-1)
    assert array.shape[1] >= 3
    assert array[:, :3].tolist() == [[1, 2, -1], [3, 4, -1]]
    assert grown(array, 3) is array


def test_room_doubles_so_that_growing_is_rare() -> None:
    array, moves = np.zeros(0, np.int64), 0
    for size in range(1, 10_001):
        bigger = grown(array, size)
        moves += bigger is not array
        array = bigger
    assert moves < 20


def test_what_is_published_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        published(np.zeros(4, np.int64), 2)[0] = 1


# --- codes ---------------------------------------------------------------------------------------


def test_things_keep_their_codes_while_they_are_used() -> None:
    interner: Interner[str] = Interner()
    assert interner.take("abab") == [0, 1, 0, 1]
    interner.give_back(0)
    interner.give_back(0)
    assert interner.take("c") == [2]
    assert interner.take("a") == [0], "an unused value is still known"


def test_compacting_forgets_what_none_uses() -> None:
    interner: Interner[str] = Interner()
    codes = interner.take("abcd")
    interner.give_back(codes[0])
    interner.give_back(codes[2])
    renumbered = interner.compact()
    assert (interner.things, interner.index) == (["b", "d"], {"b": 0, "d": 1})
    assert [renumbered[codes[1]], renumbered[codes[3]]] == [0, 1]
    assert interner.epoch == 1


def test_a_few_unused_things_are_kept_and_many_are_not() -> None:
    interner: Interner[int] = Interner()
    for i in range(1024):
        interner.give_back(*interner.take([i]))
    assert not interner.is_wasteful()
    interner.give_back(*interner.take([5000]))
    assert interner.is_wasteful()
    interner.take(range(6000, 9000))
    assert not interner.is_wasteful(), "most of it is used"


# --- columns -------------------------------------------------------------------------------------


def test_a_column_shows_each_row_its_thing_and_the_others_nothing() -> None:
    column = GrowingColumn("-")
    column.set([2], ["two"])
    column.set([0], ["zero"])
    assert shown(column, 4) == ["zero", "-", "two", "-"]
    column.set([0], ["other"])
    column.clear(2)
    column.clear(3)
    assert shown(column, 4) == ["other", "-", "-", "-"]


@pytest.mark.usefixtures("tidy")
def test_a_column_survives_collections() -> None:
    column, rows = GrowingColumn("-"), ["-"] * 10
    for i in range(300):
        rows[i % 10] = "-" if i % 7 == 0 else f"thing {i % 41}"
        if rows[i % 10] == "-":
            column.clear(i % 10)
        else:
            column.set([i % 10], [rows[i % 10]])
        assert shown(column, 10) == rows
    assert column.interner.epoch > 0
    assert column.view(10).index["-"] == 0


def test_a_column_does_not_keep_what_is_over() -> None:
    column = GrowingColumn("-")
    for i in range(20_000):
        column.set([0], [f"thing {i}"])
    assert len(column.view(1).things) < 2100


# --- relations -----------------------------------------------------------------------------------


def test_a_relation_shows_every_pair() -> None:
    relation: GrowingRelation[str] = GrowingRelation()
    relation.set([0], [["a", "b"]])
    relation.set([5], [["b"]])
    relation.set([2], [[]])
    assert pairs(relation) == {(0, "a"), (0, "b"), (5, "b")}
    relation.set([0], [["c"]])
    relation.clear(9)
    assert pairs(relation) == {(0, "c"), (5, "b")}


@pytest.mark.usefixtures("tidy")
def test_a_relation_survives_collections() -> None:
    relation: GrowingRelation[str] = GrowingRelation()
    rows: dict[int, list[str]] = {}
    for i in range(300):
        rows[i % 7] = [f"thing {(i * j) % 11}" for j in range(i % 4)]
        relation.set([i % 7], [rows[i % 7]])
        assert pairs(relation) == {(row, thing) for row, things in rows.items() for thing in things}
        assert len(relation.view()) == sum(map(len, rows.values()))
    assert relation.interner.epoch > 0


def test_an_edition_lasts_as_long_as_codes_mean_the_same() -> None:
    relation: GrowingRelation[str] = GrowingRelation()
    relation.set([0], [["a"]])
    edition = relation.edition
    relation.set([1], [["a"]])
    relation.clear(0)
    assert relation.edition == edition
    relation.set([0], [["b"]])
    assert relation.edition != edition
