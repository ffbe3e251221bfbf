"""Nominations: the earlier comes first among equals, and look-ups by pod, node and demand agree."""

from tests.unit.scheduler.making import a_key, a_node, a_pod
from tests.unit.scheduler.serving import served

from reprieve.model.effects import Nominate, Target
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.nominations import NominationReason, Nominations

A, B, C = (Target("Pod", "default", name, f"uid-{name}") for name in "abc")
GANG, ALONE = a_key("g", DemandKind.GROUP), a_key("c")


def nominated(*pods: tuple[Target, str]) -> Nominations:
    found = Nominations()
    for pod, node in pods:
        found.nominate(pod, node, NominationReason.PLAN)
    return found


def test_the_earlier_nomination_comes_first() -> None:
    found = nominated((B, "n1"), (A, "n1"), (C, "n2"))
    assert [nomination.pod for nomination in found] == [B, A, C]
    assert [nomination.pod for nomination in found.on("n1")] == [B, A]
    assert found.on("n3") == []


def test_a_pod_that_is_nominated_elsewhere_keeps_its_turn() -> None:
    found = nominated((B, "n1"), (A, "n1"), (B, "n2"))
    assert [(nomination.pod, nomination.node) for nomination in found] == [(B, "n2"), (A, "n1")]
    assert found.on("n1") == [found.of(A)]


def test_a_pod_that_waited_for_no_node_in_between_has_lost_its_turn() -> None:
    found = nominated((B, "n1"), (A, "n1"))
    assert found.withdraw(B) is not None
    assert found.withdraw(B) is None
    found.nominate(B, "n1", NominationReason.KEPT)
    assert [nomination.pod for nomination in found.on("n1")] == [A, B]


def test_a_pod_that_moves_to_another_demand_keeps_its_room_for_another_reason() -> None:
    found = nominated((A, "n1"))
    before = found.of(A)
    found.move(A)
    found.move(B)
    after = found.of(A)
    assert before is not None
    assert after is not None
    assert (after.node, after.since, after.reason) == ("n1", before.since, NominationReason.MOVED)
    assert B not in found


def test_the_nominations_of_a_demand() -> None:
    ledger = Ledger(300.0)
    for pod, demand in ((A, GANG), (B, GANG), (C, ALONE)):
        ledger.parts.join(pod, demand)
    for pod in (C, B, A):
        ledger.nominations.nominate(pod, "n1", NominationReason.PLAN)
    assert [nomination.pod for nomination in ledger.nominated(GANG)] == [B, A]
    ledger.parts.join(B, ALONE)
    assert [nomination.pod for nomination in ledger.nominated(ALONE)] == [C, B]
    ledger.parts.leave(A)
    assert ledger.nominated(GANG) == []


# --- in a cluster --------------------------------------------------------------------------------


def test_of_equals_that_wait_for_one_node_the_earlier_has_it_whatever_their_names() -> None:
    """The later one planned beside the earlier, and its victim is gone first."""
    node, small, large = (
        a_node("n1", cpu="4"),
        a_pod("small", cpu="1", on="n1"),
        a_pod("large", cpu="3", on="n1"),
    )
    cluster = served(node, small, large).show(a_pod("z", cpu="3", priority=9))
    cluster.show(a_pod("a", cpu="1", priority=9)).does(Nominate)
    assert [n.pod.name for n in cluster.stage.scheduler._state.ledger.nominations.on("n1")] == ["z", "a"]
    assert cluster.comes_true().places() == {"a": "n1", "z": "n1"}
