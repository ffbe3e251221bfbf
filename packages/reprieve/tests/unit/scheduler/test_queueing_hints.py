"""Which changes waiting demands wait for."""

from reprieve.model.events import Change
from reprieve.placement.rejection_codes import Code
from reprieve.preemption import eviction_limit, toleration
from reprieve.scheduler.demands.queueing_hints import HELPS, ROOM_AT_RISK, helpful


def test_every_reason_says_what_would_help() -> None:
    assert set(HELPS) == set(Code)


def test_a_new_node_may_always_help() -> None:
    assert all(Change.NODE_ADDED in changes for changes in HELPS.values())
    assert helpful([]) == {Change.NODE_ADDED}


def test_every_kind_of_change_helps_a_pod() -> None:
    """No node is refused for a budget; only demands that never break a budget wait for budgets. A demand that
    waits for the kubelet must know when its room is taken."""
    others = {Change.BUDGETS, Change.GROUPS} | toleration.ENDED_BY | eviction_limit.ENDED_BY | ROOM_AT_RISK
    assert frozenset(Change) == others.union(*HELPS.values())


def test_several_reasons_wait_for_whatever_helps_one_of_them() -> None:
    reasons = [Code.UNTOLERATED_TAINT, Code.NODE_UNSCHEDULABLE]
    assert helpful(reasons) == {Change.NODE_ADDED, Change.NODE_TAINTS, Change.NODE_UNCORDONED}
