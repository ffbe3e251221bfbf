"""Which controllers run, by a list of names."""

import pytest

from reprieve_minicluster.controllers import DEFAULT_DELAYS, controllers
from reprieve_minicluster.controllers.selection import (
    ALL_CONTROLLERS,
    ControllerName,
    selected_controllers,
)

JOB, DEPLOYMENT = ControllerName.JOB, ControllerName.DEPLOYMENT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", ALL_CONTROLLERS),
        ("none", frozenset()),
        ("job-controller", {JOB}),
        ("job, deployment", {JOB, DEPLOYMENT}),
        ("*,-job", ALL_CONTROLLERS - {JOB}),
        ("-job,*", ALL_CONTROLLERS - {JOB}),
        ("-job,-deployment-controller", ALL_CONTROLLERS - {JOB, DEPLOYMENT}),
        ("job,-job", frozenset()),
    ],
)
def test_a_list_adds_and_takes_away(text: str, expected: frozenset[str]) -> None:
    assert selected_controllers(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "*,-jbo-controller",
            'expected *, none, or names of controllers, got "jbo-controller" '
            '(did you mean "job-controller"?)',
        ),
        ("", 'expected *, none, or names of controllers, got ""'),
        ("none,job", 'expected *, none, or names of controllers, got "none"'),
    ],
)
def test_an_unknown_name_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="expected") as raised:
        selected_controllers(text)
    assert str(raised.value).startswith(message)


def test_every_controller_can_be_chosen() -> None:
    own_loops = {ControllerName.GARBAGE_COLLECTOR, ControllerName.NAMESPACE, ControllerName.RESOURCE_QUOTA}
    assert {one.name for one in controllers(DEFAULT_DELAYS)} == ALL_CONTROLLERS - own_loops
