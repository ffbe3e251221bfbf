"""The answer that a demand cannot be decided yet, and why: its modules and ``state`` give it."""

from dataclasses import dataclass

from reprieve.model.shape import CompiledPod


@dataclass(frozen=True, slots=True)
class NotYet:
    """``text`` is reported on ``pods``; it is empty if the one that holds them back reports it itself.

    ``arriving``: there are too few pods, and more may be created or lose their gates any moment.
    ``flaw``: the groups around are not as they must be, which no pod can mend: the reason of a condition on
    its PodGroups, which get an event as well.
    """

    text: str
    pods: tuple[CompiledPod, ...] = ()
    arriving: bool = False
    flaw: str = ""
