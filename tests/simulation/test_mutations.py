"""Each deliberate mistake in the handover, and each clean-up that is left out, is found."""

import pytest

from tests.simulation.mutations import MUTATIONS, Mutation, hunt


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_mistake_is_found(mutation: Mutation) -> None:
    result = hunt(mutation)
    assert result.found, "it survived"
    meant = ("BrokenInvariantError", "BrokenRuleError", "AssertionError")
    is_meant = any(error in result.last_words for error in meant)
    assert is_meant, result.last_words


def test_there_are_enough_of_them() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) >= 10
    assert len({mutation.file for mutation in MUTATIONS}) >= 5
