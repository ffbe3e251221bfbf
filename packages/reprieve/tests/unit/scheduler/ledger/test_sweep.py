"""Leftovers on objects are cleared after a while, and again if that did not help."""

from reprieve.scheduler.ledger import Sweep


def test_leftovers_are_cleared_after_a_while() -> None:
    sweep = Sweep()
    assert not sweep.is_due(0.0, leftovers=True)
    assert sweep.next_time() == 30.0
    assert not sweep.is_due(29.9, leftovers=True)
    assert sweep.is_due(30.0, leftovers=True)
    assert sweep.next_time() == 60.0, "if they are not gone by then, once more"
    assert not sweep.is_due(60.0, leftovers=False)
    assert sweep.next_time() is None
