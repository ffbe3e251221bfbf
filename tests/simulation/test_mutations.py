"""Each deliberate mistake in the handover, and each clean-up that is left out, is found."""

from pathlib import Path

import pytest

from tests.simulation.mutations import MUTATIONS, Mutation, hunt


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_mistake_is_found(mutation: Mutation) -> None:
    result = hunt(mutation)
    assert result.found, "it survived"
    meant = ("BrokenInvariantError", "BrokenRuleError", "AssertionError")
    is_meant = any(error in result.last_words for error in meant)
    assert is_meant, result.last_words


def test_each_is_about_one_place() -> None:
    """This says within a moment which texts and tests a change of the source has left behind."""
    stale = [one.name for one in MUTATIONS if one.original().count(one.old) != 1 or one.old == one.new]
    assert stale == []


def test_the_tests_that_find_them_exist() -> None:
    tests = {argument for one in MUTATIONS for argument in one.found_by if ".py" in argument}
    missing = [test for test in tests if not _exists(*test.split("::"))]
    assert missing == []


def _exists(path: str, name: str = "") -> bool:
    return Path(path).is_file() and f"def {name}" in Path(path).read_text()


def test_there_are_enough_of_them() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) >= 10
    assert len({mutation.file for mutation in MUTATIONS}) >= 5
