"""What a decision may spend on searches."""

from reprieve.placement.effort import Effort


def test_each_search_may_spend_a_quarter_of_what_is_left() -> None:
    effort = Effort(100)
    assert effort.share().left == 25
    share = effort.share()
    assert share.take(20)
    assert (share.left, effort.spent, effort.share().left) == (5, 20, 20)


def test_what_is_not_there_is_not_spent() -> None:
    effort = Effort(8)
    share = effort.share()
    assert not share.take(3)
    assert (share.is_spent, effort.fell_short, effort.spent) == (True, True, 0)
