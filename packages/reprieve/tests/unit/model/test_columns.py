"""Columns and relations: distinct things, and the rows that have them."""

from reprieve.model.columns import Column, Relation


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


def test_a_relation_gives_a_row_any_number_of_things() -> None:
    relation = Relation.of([(0, "x"), (0, "y"), (2, "x")])
    assert len(relation) == 3
    assert relation.rows_with("x").tolist() == [0, 2]
    assert relation.rows_with("y").tolist() == [0]
