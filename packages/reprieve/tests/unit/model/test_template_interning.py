"""Pods of one template keep what they have in common but once."""

from typing import Any

import pytest
from tests.unit.model.things import a_pod, container

from reprieve.model.objects import Pod
from reprieve.model.sized_cache import MOST_ENTRIES, sharing


def of_template(number: int, **others: Any) -> Pod:
    main = container(cpu="1234m")
    volumes = [{"name": f"token-{number}"}]
    usual = {"labels": {"a": "1"}, "containers": [main], "volumes": volumes}
    return a_pod(f"p{number}", on=f"n{number}", **{**usual, **others})


def test_pods_of_one_template_share_parts_and_keep_their_identity() -> None:
    pods = [of_template(number) for number in (1, 2)]
    one, two = map(sharing, pods)
    assert [one, two] == pods
    assert two.spec.containers is one.spec.containers
    assert two.metadata.labels is one.metadata.labels


@pytest.mark.parametrize(
    "other",
    [{"labels": {"a": "2"}}, {"containers": [container(cpu="2345m")]}, {"priority": 7}],
    ids=["labels", "requests", "priority"],
)
def test_pods_of_another_template_share_nothing(other: dict[str, Any]) -> None:
    one, two = sharing(of_template(1)), sharing(different := of_template(2, **other))
    assert two == different
    assert two.spec.containers is not one.spec.containers


def test_only_so_many_templates_are_remembered() -> None:
    first = sharing(a_pod("p", priority=-1))
    for number in range(MOST_ENTRIES):
        sharing(a_pod("p", priority=number))
    assert sharing(again := a_pod("p", priority=-1)) is again
    assert again == first
