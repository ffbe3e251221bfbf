"""Which pods should be gone soon, since when, and which of them are stuck.

A pod is terminating from the moment its eviction is sent, before the API server has answered and before the
cluster shows its deletion; or from the first sight of its deletion, whatever caused that. How long it has
been terminating is how long the scheduler has known of it. Only of a pod that was terminating when it was
first seen is the API server's timestamp believed: that clock may be wrong, so such a pod still has at least
a minute. Its own grace period gives no pod more time: it may be ten years, and a demand would wait for that.
"""

from heapq import heappop, heappush

from reprieve.model.effects import Target

_AT_LEAST = 60.0  # seconds, for a pod that was terminating when it was first seen


class TerminatingPods:
    def __init__(self, patience: float) -> None:
        self.patience = patience
        self._since: dict[Target, float] = {}
        self._due: dict[Target, float] = {}
        self._heap: list[tuple[float, Target]] = []  # may hold outdated entries; see ``next_time``
        self._stuck: set[Target] = set()
        self.edition = 0  # how often a pod got stuck, or is so no more

    def __contains__(self, pod: Target) -> bool:
        return pod in self._due

    @property
    def under_way(self) -> list[Target]:
        """The pods whose eviction was sent, or whose deletion was seen."""
        return sorted(self._since)

    @property
    def stuck(self) -> frozenset[Target]:
        """The pods that should be gone, and are not."""
        return frozenset(self._stuck)

    def is_stuck(self, pod: Target) -> bool:
        return pod in self._stuck

    def has_lasted(self, pod: Target, seconds: float, now: float) -> bool:
        """Whether the pod has been terminating for so long."""
        since = self._since.get(pod)
        return since is not None and now - since >= seconds

    def begin(self, pod: Target, now: float, asked: float | None = None) -> None:
        """The pod's eviction is sent, or its deletion is seen.

        ``asked``: when it was deleted, if that was before the scheduler knew the pod.
        """
        news = pod not in self._since
        since = self._since.setdefault(pod, now if asked is None else min(asked, now))
        due = since + self.patience
        if news:
            due = max(due, now + min(self.patience, _AT_LEAST))
        if pod not in self._stuck and due > self._due.get(pod, since):
            self._due[pod] = due
            heappush(self._heap, (due, pod))

    def end(self, pod: Target) -> None:
        """The pod is gone, or stays."""
        self._since.pop(pod, None)
        self._due.pop(pod, None)
        if pod in self._stuck:
            self._stuck.remove(pod)
            self.edition += 1

    def overdue(self, now: float) -> list[Target]:
        """The pods that are stuck from now on, each once."""
        found = []
        while (at := self.next_time()) is not None and at <= now:
            found.append(heappop(self._heap)[1])
        self._stuck.update(found)
        self.edition += len(found)
        return found

    def next_time(self) -> float | None:
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None
