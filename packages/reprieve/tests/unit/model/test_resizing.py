"""What pods and nodes say of resizes."""

import pytest
from tests.unit.model.things import a_node, a_pod

from reprieve.model.conditions import (
    is_deferred,
    resize_preemption_disabled,
    resize_preemption_opponents,
    resize_reason,
)
from reprieve.model.json import Json


def pending(**fields: str) -> Json:
    return {"type": "PodResizePending", **fields}


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([], ""),
        ([pending()], ""),
        ([{"type": "Ready", "reason": "Deferred"}], ""),
        ([pending(status="True", reason="Deferred")], "Deferred"),
        ([pending(status="False", reason="Deferred")], "Deferred"),
        ([pending(reason="Infeasible"), pending(reason="Deferred")], "Infeasible"),
    ],
)
def test_the_first_condition_says_why_a_resize_waits(conditions: list[Json], reason: str) -> None:
    pod = a_pod(status={"conditions": conditions})
    assert resize_reason(pod) == reason
    assert is_deferred(pod) == (reason == "Deferred")


@pytest.mark.parametrize("reason", ["PreemptionDisabledByNodePolicy", "PreemptionDisabled", ""])
def test_the_pod_condition_that_disables_preemption(reason: str) -> None:
    condition = {"type": "PodResizePreemptionDisabled", "status": "True", "reason": reason}
    assert resize_preemption_disabled(a_pod(status={"conditions": [condition]}))
    assert not resize_preemption_disabled(a_pod(status={"conditions": [condition | {"status": "False"}]}))
    assert not resize_preemption_disabled(a_pod())


def test_the_node_field_that_disables_preemption_for_resizes() -> None:
    policy = {"disableResizePreemption": ["example.com/a", "b"]}
    assert resize_preemption_opponents(a_node(spec={"podPreemptionPolicy": policy})) == ("example.com/a", "b")
    assert resize_preemption_opponents(a_node()) == ()
