"""Which objects were told which text already? For warnings that are worth one event, not one each time."""

from reprieve.model.effects import Target

_MOST = 10_000  # objects that are remembered; no warning is sent for more, as it would be repeated


class ReportedOnce:
    def __init__(self) -> None:
        self._told: dict[Target, str] = {}

    def __bool__(self) -> bool:
        return bool(self._told)

    def is_news(self, target: Target, text: str) -> bool:
        if self._told.get(target) == text:
            return False
        if target not in self._told and len(self._told) >= _MOST:
            return False
        self._told[target] = text
        return True

    def forget(self, target: Target) -> None:
        """Whatever is told next is news."""
        self._told.pop(target, None)
