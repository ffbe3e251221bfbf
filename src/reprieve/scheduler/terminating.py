"""Who should be gone soon, since when, and who takes too long to be counted on.

How long a pod has been leaving is how long we have known of it. Only of one that was leaving when we came is
the cluster believed, whose clock may be another: so such a pod has at least a minute.
"""

from heapq import heapify, heappop, heappush

from reprieve.model.effects import Target

_AT_LEAST = 60.0  # seconds, for one of whom we heard late


class TerminatingPods:
    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._since: dict[Target, float] = {}
        self._due: dict[Target, float] = {}
        self._heap: list[tuple[float, Target]] = []  # some no longer hold; see ``next_time``
        self._stuck: set[Target] = set()

    def __contains__(self, pod: Target) -> bool:
        return pod in self._due

    @property
    def under_way(self) -> list[Target]:
        """Those who were asked to go, or are seen going."""
        return sorted(self._since)

    @property
    def stuck(self) -> frozenset[Target]:
        """Those who should be gone, and are not."""
        return frozenset(self._stuck)

    def begin(self, pod: Target, now: float, grace: float = 0.0, asked: float | None = None) -> None:
        """It was asked to go, or is seen going; it may take as long as its own grace allows.

        ``asked``: when it was, if that was before we knew the pod.
        """
        news = pod not in self._since
        since = self._since.setdefault(pod, now if asked is None else min(asked, now))
        due = since + max(self.patience, grace)
        if news:
            due = max(due, now + min(self.patience, _AT_LEAST))
        if pod not in self._stuck and due > self._due.get(pod, since):
            self._due[pod] = due
            heappush(self._heap, (due, pod))

    def end(self, pod: Target) -> None:
        """It is gone, or stays."""
        self._since.pop(pod, None)
        self._due.pop(pod, None)
        self._stuck.discard(pod)

    def overdue(self, now: float) -> list[Target]:
        """Those whose time has come, each once."""
        found = []
        while (at := self.next_time()) is not None and at <= now:
            found.append(heappop(self._heap)[1])
        self._stuck.update(found)
        return found

    def next_time(self) -> float | None:
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        self._since = {pod: since + seconds for pod, since in self._since.items()}
        self._due = {pod: due + seconds for pod, due in self._due.items()}
        self._heap = [(due, pod) for pod, due in self._due.items() if pod not in self._stuck]
        heapify(self._heap)
