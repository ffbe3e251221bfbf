"""Columns and relations: distinct things, and the rows that have them."""

import numpy as np

from reprieve.model.columns import Column, Relation


def test_a_column_keeps_each_distinct_thing_once() -> None:
    column = Column.of(["a", "b", "a"])
    assert list(column.things) == ["a", "b"]
    assert [column[row] for row in range(3)] == ["a", "b", "a"]


def test_things_named_first_have_the_lowest_codes_even_if_no_row_has_them() -> None:
    column = Column.of(["a", None], first=(None, "z"))
    assert list(column.things) == [None, "z", "a"]
    assert column.codes.tolist() == [2, 0]


def test_each_distinct_thing_is_asked_about_once() -> None:
    asked: list[str] = []

    def accepts(thing: str) -> bool:
        asked.append(thing)
        return thing == "a"

    assert Column.of(["a", "b", "a", "b"]).where(accepts).tolist() == [True, False, True, False]
    assert asked == ["a", "b"]


def test_rows_with_one_of_some_things_that_need_not_exist() -> None:
    assert Column.of(["a", "b", "c"]).where_in(["c", "a", "unheard-of"]).tolist() == [True, False, True]


def test_an_empty_column_has_no_rows() -> None:
    column: Column[str] = Column.of([])
    assert column.where(lambda _: True).tolist() == []
    assert column.where_in(["a"]).tolist() == []


def test_a_relation_gives_a_row_any_number_of_things() -> None:
    relation = Relation.of([(0, "x"), (0, "y"), (2, "x")])
    assert len(relation) == 3
    assert relation.rows_with("x").tolist() == [0, 2]
    assert relation.rows_with("y").tolist() == [0]


def test_a_thing_that_no_row_has_is_no_rows() -> None:
    empty: Relation[str] = Relation.of([])
    assert empty.rows_with("x").tolist() == []
    assert Relation.of([(1, "x")]).rows_with("y").dtype == np.int64
