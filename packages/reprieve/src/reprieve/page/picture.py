"""What does the page know of a cluster? A fold over what a journal holds: events, decisions, plan records.

Live, an observer feeds it; offline, a journal on disk does, with the same result. It must not know readers,
files or clocks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar

from reprieve.model.effects import Target
from reprieve.model.events import Event, Gone, Seen, Synced, Unread
from reprieve.model.objects import CompositePodGroup, Node, ObjectMeta, Pod, PodGroup
from reprieve.model.resources import CPU, MEMORY
from reprieve.page.rows import (
    GroupRow,
    NodeRow,
    PodRow,
    composite_key,
    group_row,
    name_key,
    node_row,
    pod_row,
)
from reprieve.runtime.recent_decisions import KeptDecision, course_after
from reprieve.scheduler.mirror.tombstones import Tombstones
from reprieve.scheduler.plans.plan_records import GrowthEnded, PlanRecord
from reprieve.scheduler.reporting.decision import Decision, Outcome

# --- which decisions are kept --------------------------------------------------------------------


K = TypeVar("K")
V = TypeVar("V")

MOST_KEPT = 400  # decisions that preempt, and as many that refuse


@dataclass(slots=True)
class DecisionMemory:
    """``most``: of each of the two kinds; the oldest are forgotten first."""

    most: int = MOST_KEPT
    _preempting: dict[str, KeptDecision] = field(default_factory=dict)
    _refused: dict[str, KeptDecision] = field(default_factory=dict)
    _last_refusals: dict[Target, tuple[str, str]] = field(default_factory=dict)  # a decision, and its reason

    def keep(self, decision: Decision) -> Iterator[KeptDecision]:
        """Yields it if it is kept."""
        match decision.outcome:
            case Outcome.PREEMPTS:
                kept = self._preempting[decision.id] = KeptDecision(decision)
                _forget(self._preempting, self.most)
                yield kept
            case Outcome.UNSCHEDULABLE | Outcome.ERROR | Outcome.IMPROVING:
                yield from self._keep_refusal(decision)
            case Outcome.PLACED | Outcome.WAITING | Outcome.FITS:
                self._last_refusals.pop(decision.demand, None)

    def _keep_refusal(self, decision: Decision) -> Iterator[KeptDecision]:
        known_id, known_reason = self._last_refusals.get(decision.demand, ("", ""))
        reason = _reason(decision)
        known = self._refused.get(known_id)
        if known is not None and known_reason == reason:
            # Not a change worth sending: a demand may be refused many times in a second.
            self._refused[known_id] = replace(known, attempts=known.attempts + 1)
            return
        kept = self._refused[decision.id] = KeptDecision(decision)
        self._last_refusals.pop(decision.demand, None)
        self._last_refusals[decision.demand] = decision.id, reason
        _forget(self._refused, self.most)
        _forget(self._last_refusals, self.most)
        yield kept

    def record(self, records: Sequence[PlanRecord]) -> Iterator[KeptDecision]:
        for record in records:
            if isinstance(record, GrowthEnded):
                continue
            known = self._preempting.get(record.decision)
            if known is not None:
                kept = replace(known, plan=course_after(known.plan, record))
                self._preempting[record.decision] = kept
                yield kept

    def adopt(self, kept: Sequence[KeptDecision]) -> Iterator[KeptDecision]:
        """Decisions that another memory has kept, the oldest first; yields those that are new.

        Of more than are kept here, only the newest: the others would push out each other every time.
        """
        preempting = [one for one in kept if one.decision.outcome is Outcome.PREEMPTS]
        refused = [one for one in kept if one.decision.outcome is not Outcome.PREEMPTS]
        for into, all_of_them in ((self._preempting, preempting), (self._refused, refused)):
            for one in all_of_them[-self.most :]:
                if into.get(one.decision.id) != one:
                    into[one.decision.id] = one
                    yield one
            _forget(into, self.most)

    def find(self, decision: str) -> KeptDecision | None:
        return self._preempting.get(decision) or self._refused.get(decision)

    def all(self) -> list[KeptDecision]:
        """The newest last."""
        kept = [*self._preempting.values(), *self._refused.values()]
        return sorted(kept, key=lambda one: one.decision.at)

    def copy(self) -> "DecisionMemory":
        return DecisionMemory(
            self.most, dict(self._preempting), dict(self._refused), dict(self._last_refusals)
        )


def _reason(decision: Decision) -> str:
    """What must differ for a refusal to be shown again. Numbers of nodes change all the time."""
    codes = sorted({finding.reason.code for finding in decision.findings})
    why = decision.eviction.because.code if decision.eviction is not None else ""
    short = (decision.miss.because.code, decision.miss.resource) if decision.miss is not None else ()
    return repr((decision.outcome, codes, why, short))


def _forget(kept: dict[K, V], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]


# --- the picture ---------------------------------------------------------------------------------


MOST_RESOURCES = 4

Row = TypeVar("Row", NodeRow, GroupRow, PodRow)


class NodeGone(NamedTuple):
    name: str


class GroupGone(NamedTuple):
    key: str


class PodGone(NamedTuple):
    """``key``: so that a reader that may not know the pod is not told."""

    uid: str
    key: str


PictureChange = NodeRow | GroupRow | PodRow | NodeGone | GroupGone | PodGone | KeptDecision


class _Held(NamedTuple, Generic[Row]):
    """``run``: in which run of the scheduler it was last seen."""

    row: Row
    uid: str
    version: int
    run: int


@dataclass(slots=True)
class _Table(Generic[Row]):
    """The rows of one kind by key. ``gone``: what a row that is dropped leaves behind."""

    gone: Callable[[Row], PictureChange]
    held: dict[str, _Held[Row]] = field(default_factory=dict)

    def put(self, key: str, meta: ObjectMeta, row: Row, run: int) -> Iterator[PictureChange]:
        """An older version changes nothing; a namesake takes the place of the one before.

        Between two runs versions may go back: a cluster that was restored from a backup counts from there.
        """
        known = self.held.get(key)
        version = int(meta.resource_version) if meta.resource_version.isdecimal() else 0
        if known is not None and known.run == run and version and version < known.version:
            return
        if known is not None and known.uid != meta.uid:
            yield self.gone(known.row)
        self.held[key] = _Held(row, meta.uid, version, run)
        if known is None or known.row != row:
            yield row

    def drop(self, key: str, uid: str) -> Iterator[PictureChange]:
        known = self.held.get(key)
        if known is not None and (not uid or known.uid == uid):
            del self.held[key]
            yield self.gone(known.row)

    def drop_before(self, run: int) -> Iterator[PictureChange]:
        """What was not seen since that run began."""
        for key, known in [*self.held.items()]:
            if known.run < run:
                yield from self.drop(key, known.uid)

    def rows(self) -> Iterator[Row]:
        return (known.row for known in self.held.values())


def _nodes() -> _Table[NodeRow]:
    return _Table(lambda row: NodeGone(row.name))


def _groups() -> _Table[GroupRow]:
    return _Table(lambda row: GroupGone(row.key))


def _pods() -> _Table[PodRow]:
    return _Table(lambda row: PodGone(row.uid, row.key))


@dataclass(slots=True)
class Picture:
    """``time``: of the last thing that was folded in. ``synced``: it knows all objects there are.

    ``changes`` are those since they were last taken; of several changes of one thing the last counts.
    """

    time: float = 0.0
    synced: bool = False
    decisions: DecisionMemory = field(default_factory=DecisionMemory)
    _node_table: _Table[NodeRow] = field(default_factory=_nodes)
    _group_table: _Table[GroupRow] = field(default_factory=_groups)
    _pod_table: _Table[PodRow] = field(default_factory=_pods)
    _tombstones: Tombstones = field(default_factory=Tombstones)
    _run: int = 0
    _changes: dict[tuple[str, str], PictureChange] = field(default_factory=dict)

    # --- folding -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """A scheduler starts anew: what it does not see again until it knows all is gone."""
        self._run += 1
        self.synced = False
        self._tombstones = Tombstones()

    def observe(self, events: Iterable[Event], now: float) -> None:
        self.time = now
        for event in events:
            match event:
                case Seen(thing):
                    if not self._tombstones.hold(thing.metadata):
                        self._note(self._seen(thing))
                case Gone(target, version):
                    self._tombstones.bury(target.uid, version)
                    self._note(self._dropped(target))
                case Unread(target):
                    self._note(self._dropped(target))
                case Synced():
                    self.synced = True
                    for table in (self._node_table, self._group_table, self._pod_table):
                        self._note(table.drop_before(self._run))

    def decide(self, decision: Decision, now: float) -> None:
        self.time = now
        self._note(self.decisions.keep(decision))

    def record(self, records: Sequence[PlanRecord], now: float) -> None:
        self.time = now
        self._note(self.decisions.record(records))

    def adopt(self, kept: Sequence[KeptDecision]) -> None:
        """Decisions from elsewhere, as from a snapshot, with what became of them; the oldest first."""
        self._note(self.decisions.adopt(kept))

    def take_changes(self) -> tuple[PictureChange, ...]:
        taken = tuple(self._changes.values())
        self._changes.clear()
        return taken

    def copy(self) -> "Picture":
        """Goes on by itself: what is folded into one does not change the other."""
        return Picture(
            self.time,
            self.synced,
            self.decisions.copy(),
            _Table(self._node_table.gone, dict(self._node_table.held)),
            _Table(self._group_table.gone, dict(self._group_table.held)),
            _Table(self._pod_table.gone, dict(self._pod_table.held)),
            self._tombstones.copy(),
            self._run,
            dict(self._changes),
        )

    def _seen(self, thing: object) -> Iterator[PictureChange]:
        match thing:
            case Pod(metadata=meta):
                return self._pod_table.put(
                    name_key(meta.namespace, meta.name), meta, pod_row(thing), self._run
                )
            case Node(metadata=meta):
                return self._node_table.put(meta.name, meta, node_row(thing), self._run)
            case PodGroup(metadata=meta) | CompositePodGroup(metadata=meta):
                row = group_row(thing)
                return self._group_table.put(row.key, meta, row, self._run)
        return iter(())

    def _dropped(self, target: Target) -> Iterator[PictureChange]:
        match target.kind:
            case "Pod":
                return self._pod_table.drop(name_key(target.namespace, target.name), target.uid)
            case "Node":
                return self._node_table.drop(target.name, target.uid)
            case "PodGroup":
                return self._group_table.drop(name_key(target.namespace, target.name), target.uid)
            case "CompositePodGroup":
                return self._group_table.drop(composite_key(target.namespace, target.name), target.uid)
        return iter(())

    def _note(self, changes: Iterable[PictureChange]) -> None:
        """Keeps the order in which each thing changed last: a namesake comes after the one before it."""
        for change in changes:
            key = _subject(change)
            self._changes.pop(key, None)
            self._changes[key] = change

    # --- reading -----------------------------------------------------------------------------------

    def nodes(self) -> list[NodeRow]:
        return [*self._node_table.rows()]

    def groups(self) -> list[GroupRow]:
        return [*self._group_table.rows()]

    def pods(self) -> list[PodRow]:
        return [*self._pod_table.rows()]

    def pod(self, key: str) -> PodRow | None:
        known = self._pod_table.held.get(key)
        return known.row if known is not None else None

    def resources(self) -> tuple[str, ...]:
        """The few that are shown: cpu and memory, then the devices that most nodes offer."""
        offering: dict[str, int] = {}
        for row in self._node_table.rows():
            for name, amount in row.allocatable.items():
                if amount > 0 and "/" in name:
                    offering[name] = offering.get(name, 0) + 1
        devices = sorted(offering, key=lambda name: (-offering[name], name))
        return (CPU, MEMORY, *devices)[:MOST_RESOURCES]


def _subject(change: PictureChange) -> tuple[str, str]:
    match change:
        case NodeRow(name=name) | NodeGone(name=name):
            return "Node", name
        case GroupRow(key=key) | GroupGone(key=key):
            return "Group", key
        case PodRow(uid=uid) | PodGone(uid=uid):
            return "Pod", uid
        case KeptDecision(decision=decision):
            return "Decision", decision.id
