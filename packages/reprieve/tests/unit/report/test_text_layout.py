"""Tables, amounts and lists."""

import pytest
from tests.unit.report import texts

from reprieve.report.text_layout import (
    BLANK,
    LineStyle,
    Sentence,
    Table,
    TextLine,
    amount,
    counted,
    indented,
    listed,
    markdown,
    table,
)


def test_columns_are_as_wide_as_needed_and_numbers_stand_to_the_right() -> None:
    lines = table(["NAME", "SIZE", "NOTE"], [["a", "10", "x"], ["longer", "5", ""]], numbers=[1])
    assert texts(lines) == ["NAME    SIZE  NOTE", "a         10  x", "longer     5"]


def test_the_head_of_a_table_is_faint() -> None:
    head, row = table(["A"], [["1"]])
    assert (head.tone, row.tone) == (LineStyle.FAINT, LineStyle.PLAIN)


def test_a_table_without_rows_is_its_head() -> None:
    assert texts(table(["A", "B"], [])) == ["A  B"]


def test_indented_lines_keep_their_tone_and_blank_ones_stay_empty() -> None:
    assert indented([TextLine("x", LineStyle.BAD), BLANK]) == [TextLine("  x", LineStyle.BAD), BLANK]


def test_counted() -> None:
    assert [counted(n, "node") for n in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]


def test_a_long_list_is_cut_and_one_more_is_named_rather_than_counted() -> None:
    names = list("abcdefg")
    assert listed(names[:2]) == "a, b"
    assert listed(names[:5]) == "a, b, c, d, e"
    assert listed(names[:6]) == "a, b, c, d and 2 more"


@pytest.mark.parametrize(
    ("resource", "number", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 250, "250m"),
        ("cpu", 1000, "1"),
        ("cpu", 12_250, "12.25"),
        ("memory", 0, "0"),
        ("memory", 1000, "1000"),
        ("memory", 512 << 20, "512Mi"),
        ("memory", 3 << 29, "1.5Gi"),
        ("memory", 1 << 30, "1Gi"),
        ("ephemeral-storage", 2 << 40, "2Ti"),
        ("nvidia.com/gpu", 8, "8"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_written_as_in_kubernetes(resource: str, number: int, text: str) -> None:
    assert amount(resource, number) == text


def test_a_name_begins_no_line_of_its_own_in_markdown() -> None:
    text = markdown([Sentence("pod a\n# b waits"), Table(("NAME",), [("c\n| d",)])])
    assert "pod a\\\\n# b waits" in text
    assert "| c\\\\n\\| d |" in text
