"""Which objects were told which text already? For warnings that are worth one event, not one each time."""

from reprieve.model.effects import Target

_MOST = 10_000  # objects that are remembered; of more, the oldest may be told again


class ReportedOnce:
    def __init__(self) -> None:
        self._told: dict[Target, str] = {}

    def is_news(self, target: Target, text: str) -> bool:
        if self._told.get(target) == text:
            return False
        self._told.pop(target, None)
        self._told[target] = text
        if len(self._told) > _MOST:
            del self._told[next(iter(self._told))]
        return True

    def forget(self, target: Target) -> None:
        """Whatever is told next is news."""
        self._told.pop(target, None)
