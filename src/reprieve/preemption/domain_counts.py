"""May pods return although the placed demand spreads over domains, or is kept apart from pods in them?

Pods are counted by topology domain, and the counts follow each pod that returns. Room and ports are not
looked at here; demands with volumes or with an affinity of their own cannot be judged by counts alone.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from reprieve.model.columns import Column, Ints
from reprieve.model.shape import Shape, SpreadRule
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints.pods import kept_apart, pod_affinity
from reprieve.placement.constraints.spread import spread
from reprieve.placement.demand import Ask
from reprieve.placement.spread_rules import fully_labelled, included, rules_of
from reprieve.preemption.settled import Settled
from reprieve.preemption.units import Unit

_NONE = -1  # the domain of a pod that does not count


def are_enough(settled: Settled) -> bool:
    """Whether counts tell all that matters to the demand beyond room and ports."""
    pods, view = list(settled.demand.pods), settled.base
    is_plain = not any(map(_needs_more, {view.pods.shape(pod) for pod in pods}))
    return is_plain and bool((view.where[pods] == NOWHERE).all())


def _needs_more(shape: Shape) -> bool:
    return bool(shape.affinity or shape.claims or shape.disks or shape.inline_volumes)


class DomainCounts:
    """Where the demand is, and where the pods are that matter to it."""

    def __init__(self, settled: Settled) -> None:
        self._apart: list[_Apart] = []
        self._spread: list[_Spread] = []
        view, constraints = settled.view, settled.demand.constraints
        turns: dict[Shape, list[int]] = {}
        for turn, (pod, _) in enumerate(settled.pairs()):
            turns.setdefault(view.pods.shape(pod), []).append(turn)
        pods = [pod for pod, _ in settled.pairs()]
        for asking in turns.values():
            ask = Ask(view, pods[asking[0]], settled.profile)
            if pod_affinity in constraints:
                self._apart += _rules_apart(ask, settled, asking)
            if spread in constraints:
                self._spread += _rules_of_spread(ask, settled, asking)
        self.hold = all(one.holds for one in self._apart) and all(one.holds for one in self._spread)

    def put_back(self, unit: Unit) -> bool:
        """Counts the unit in, if every rule holds with it; says whether it did. They must hold before."""
        if any(rule.excludes(unit.pods) for rule in self._apart):
            return False
        for i, rule in enumerate(self._spread):
            if not rule.put_back(unit.pods):
                for other in self._spread[:i]:
                    other.take_out(unit.pods)
                return False
        return True


def _rules_apart(ask: Ask, settled: Settled, asking: Sequence[int]) -> Iterator["_Apart"]:
    for topology_key, pods in kept_apart(ask):
        column = ask.view.nodes.label(topology_key)
        yield _Apart(_Counted(settled, ask.view, column, column.codes, pods), asking)


def _rules_of_spread(ask: Ask, settled: Settled, asking: Sequence[int]) -> Iterator["_Spread"]:
    view, rules = ask.view, rules_of(ask, required=True)
    labelled = fully_labelled(ask, rules)
    for rule in rules:
        matching = np.zeros(len(view.pods), np.bool_)
        if rule.selector.requirements:  # Kubernetes counts no pods for a selector that would match all
            matching = view.pods.matching(rule.selector, frozenset((ask.shape.namespace,)))
        column, counting = view.nodes.label(rule.topology_key), included(ask, rule, labelled)
        pods = np.flatnonzero(matching & ~view.pods.terminating)
        counted = _Counted(settled, view, column, np.where(counting, column.codes, _NONE), pods)
        is_alike = rule.selector.matches(dict(ask.shape.labels))
        yield _Spread(counted, asking, rule, is_alike=is_alike)


class _Counted:
    """The pods that a rule counts, by domain: the value of a label of their node, as a code."""

    def __init__(
        self, settled: Settled, view: Snapshot, column: Column[str | None], codes: Ints, pods: Ints
    ) -> None:
        """``codes``: [node] the domain in which a pod there counts, or _NONE."""
        homes = np.append(codes, _NONE)[settled.base.where[pods]]  # the last one stands for NOWHERE
        there = (view.where[pods] != NOWHERE) & (homes != _NONE)
        self.codes = codes
        self.counts: list[int] = np.bincount(homes[there], minlength=len(column.things)).tolist()
        may_return, is_counted = np.zeros((2, len(view.pods)), np.bool_)
        may_return[settled.gone] = is_counted[pods] = True
        returning = may_return[pods]
        self._home = dict(zip(pods[returning].tolist(), homes[returning].tolist(), strict=True))
        self.seats = [int(column.codes[node]) for _, node in settled.pairs()]  # domains of the demand's pods
        self.taken = [int(codes[node]) if is_counted[pod] else _NONE for pod, node in settled.pairs()]

    def of(self, pods: Iterable[int]) -> list[int]:
        """The domains in which these pods count."""
        found = (self._home.get(pod, _NONE) for pod in pods)
        return [code for code in found if code != _NONE]


class _Apart:
    """Some pods of the demand may share no domain with the pods that are counted."""

    def __init__(self, counted: _Counted, asking: Sequence[int]) -> None:
        self._counted = counted
        self._forbidden = {counted.seats[i] for i in asking} - {0}  # a node without the label is in no domain
        before = [(counted.seats[i], counted.taken[:i]) for i in asking]
        self.holds = not any(counted.counts[code] for code in self._forbidden) and not any(
            code and code in taken for code, taken in before
        )

    def excludes(self, pods: Iterable[int]) -> bool:
        return not self._forbidden.isdisjoint(self._counted.of(pods))


class _Spread:
    """In no domain with pods of the demand may there be more pods than in the emptiest, by more than a skew.

    ``_slack``: by domain, how many more pods it can take at least. A pod that returns elsewhere never makes
    that less, so it is counted down, and evaluated again only when it is used up.
    """

    def __init__(self, counted: _Counted, asking: Sequence[int], rule: SpreadRule, *, is_alike: bool) -> None:
        self._counted = counted
        self._limit = rule.max_skew - is_alike
        domains = np.bincount(counted.codes[counted.codes != _NONE], minlength=len(counted.counts)) > 0
        self._own = np.array([counted.seats[i] for i in asking], np.int64)
        self._used = np.unique([*self._own, *(code for code in counted.taken if code != _NONE)])
        self._more = self._counts_of_members(asking)
        self._is_enough = int(np.count_nonzero(domains)) >= rule.min_domains
        self._compared = domains[self._used]
        domains[self._used] = False
        self._others = np.flatnonzero(domains)
        self._slack = self._evaluated()
        self._refused: set[int] = set()
        self.holds = 0 not in self._own and min(self._slack.values()) >= 0

    def _counts_of_members(self, asking: Sequence[int]) -> Ints:
        """[asking pod, used domain] pods of the demand that are there before it."""
        taken = np.array(self._counted.taken, np.int64)
        before = np.cumsum(taken[:, None] == self._used, axis=0) - (taken[:, None] == self._used)
        counts: Ints = before[list(asking)]
        return counts

    def _evaluated(self) -> dict[int, int]:
        counts = np.array(self._counted.counts, np.int64)
        sums = counts[self._used] + self._more
        fewest = np.zeros(len(sums), np.int64)
        if self._is_enough:
            among = [sums[:, self._compared], np.full((len(sums), 1), self._fewest_elsewhere(counts))]
            fewest = np.concatenate(among, axis=1).min(axis=1)
        slack = self._limit + fewest - sums[np.arange(len(sums)), np.searchsorted(self._used, self._own)]
        least: dict[int, int] = {}
        for code, left in zip(self._own.tolist(), slack.tolist(), strict=True):
            least[code] = min(left, least.get(code, left))
        return least

    def _fewest_elsewhere(self, counts: Ints) -> int:
        return int(counts[self._others].min(initial=np.iinfo(np.int64).max))

    def put_back(self, pods: Iterable[int]) -> bool:
        codes = self._counted.of(pods)
        if len(codes) == 1 and codes[0] in self._refused:
            return False
        before = self._slack.copy()
        for code in codes:
            self._count(code, 1)
        if any(self._slack.get(code, 0) < 0 for code in codes):
            self._slack = self._evaluated()
            if min(self._slack.values()) < 0:
                for code in codes:
                    self._count(code, -1)
                self._slack = before
                self._refused.update(codes if len(codes) == 1 else ())
                return False
        if codes:
            self._refused.clear()
        return True

    def take_out(self, pods: Iterable[int]) -> None:
        for code in self._counted.of(pods):
            self._count(code, -1)
        self._slack = self._evaluated()

    def _count(self, code: int, by: int) -> None:
        self._counted.counts[code] += by
        if code in self._slack:
            self._slack[code] -= by
