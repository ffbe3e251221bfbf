"""Promises: each to one pod, in one state at a time, due at most once, with steps that others may share."""

from dataclasses import replace

import msgspec

from reprieve.model.effects import Bind, BindVolume, SelectNode, Target
from reprieve.scheduler.ledger.assumed import Assumed, AssumedPods, Promise

POD = Target("Pod", "default", "p", "uid-1")
NAMESAKE = Target("Pod", "default", "p", "uid-2")
SENT = Assumed(POD, "n1", Promise.SENT)


def promised(*promises: Assumed) -> AssumedPods:
    pods = AssumedPods()
    for assumed in promises:
        pods.promise(assumed)
    return pods


def test_a_promise_stands_until_it_is_settled() -> None:
    pods = promised(SENT)
    assert pods.of(POD) == SENT
    assert list(pods) == [SENT]
    assert pods.settle(POD) == SENT
    assert len(pods) == 0
    assert pods.settle(POD) is None


def test_a_namesake_was_promised_nothing() -> None:
    pods = promised(SENT)
    assert pods.of(NAMESAKE) is None
    assert pods.settle(NAMESAKE) is None
    assert len(pods) == 1


def test_a_promise_knows_how_it_is_kept() -> None:
    assert SENT.bind == Bind(POD, "n1")


def test_a_new_state_takes_the_place_of_the_old() -> None:
    pods = promised(SENT, replace(SENT, state=Promise.UNKNOWN, due=10.0))
    assert [assumed.state for assumed in pods] == [Promise.UNKNOWN]


def test_a_promise_without_a_time_is_never_overdue() -> None:
    pods = promised(SENT)
    assert pods.next_time() is None
    assert list(pods.overdue(1e9)) == []


def test_a_promise_is_overdue_once() -> None:
    unknown = replace(SENT, state=Promise.UNKNOWN, due=10.0)
    pods = promised(unknown)
    assert pods.next_time() == 10.0
    assert list(pods.overdue(9.9)) == []
    assert list(pods.overdue(10.0)) == [unknown]
    assert list(pods.overdue(10.0)) == []


def test_promises_are_overdue_in_the_order_of_their_times() -> None:
    early, late = (
        replace(SENT, pod=msgspec.structs.replace(POD, name=name), due=due)
        for name, due in (("a", 5.0), ("b", 9.0))
    )
    pods = promised(late, early)
    assert list(pods.overdue(20.0)) == [early, late]


def test_only_the_newest_time_counts() -> None:
    pods = promised(replace(SENT, due=5.0), replace(SENT, due=50.0))
    assert pods.next_time() == 50.0
    assert list(pods.overdue(49.0)) == []


def test_a_time_that_was_taken_back_is_forgotten() -> None:
    pods = promised(replace(SENT, due=5.0), SENT)
    assert pods.next_time() is None


def test_a_settled_promise_is_never_overdue() -> None:
    pods = promised(replace(SENT, due=5.0))
    pods.settle(POD)
    assert list(pods.overdue(6.0)) == []


def test_the_same_time_twice_is_one_time() -> None:
    promise = replace(SENT, state=Promise.PREPARING, due=5.0)
    pods = promised(promise, replace(promise, shown=frozenset()))
    assert len(list(pods.overdue(5.0))) == 1


# --- volume steps --------------------------------------------------------------------------------

CLAIM, VOLUME = (Target(kind, "", "data", kind) for kind in ("PersistentVolumeClaim", "PersistentVolume"))
SELECT, TAKE = SelectNode(CLAIM, "n1"), BindVolume(VOLUME, CLAIM)
PREPARING = replace(SENT, state=Promise.PREPARING, due=5.0, steps=(SELECT, TAKE))
OTHER = replace(PREPARING, pod=NAMESAKE, steps=(SELECT,))


def test_steps_count_while_a_promise_needs_them() -> None:
    pods = promised(PREPARING)
    assert pods.steps() == {CLAIM: SELECT, VOLUME: TAKE}
    pods.promise(replace(PREPARING, state=Promise.SENT, due=None))
    assert pods.steps() == {CLAIM: SELECT, VOLUME: TAKE}, "the bind rests on them until the pod is seen"
    pods.settle(POD)
    assert pods.steps() == {}


def test_pods_of_one_claim_share_its_step() -> None:
    pods = promised(PREPARING, OTHER)
    pods.settle(POD)
    assert (pods.needs(SELECT), pods.needs(TAKE)) == (True, False)
    pods.settle(NAMESAKE)
    assert not pods.needs(SELECT)


def test_which_promises_wait_for_which_step() -> None:
    pods = promised(PREPARING, OTHER, replace(SENT, pod=msgspec.structs.replace(POD, uid="uid-3")))
    assert pods.preparing() == [PREPARING, OTHER]
    assert pods.preparing(TAKE) == [PREPARING]
