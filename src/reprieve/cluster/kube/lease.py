"""Who of several replicas leads: the one whose name is on a Lease, for as long as it renews it in time.

As client-go does it, so that both can stand beside each other. Nobody trusts the clocks of others: a lease is
free when it has not changed for its duration by our own clock. Whoever leads stops earlier than that, and by
whichever of his clocks is ahead: one of them may have stood still while the machine slept.
"""

import asyncio
import logging
from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from math import inf

import msgspec

from reprieve.cluster.api.timestamps import micro_stamp
from reprieve.cluster.kube.client import Connection, NoAnswerError
from reprieve.cluster.kube.requests import Request, Response
from reprieve.cluster.kube.rest_mapping import Place
from reprieve.model.json import Json

_log = logging.getLogger(__name__)


_SEEN_AFTER = 1.0  # seconds, at most, until others who watch have seen what we wrote last
_LEASES = Place("Lease", "leases", "coordination.k8s.io/v1")


@dataclass(frozen=True, slots=True)
class Terms:
    """Whose name is put on which lease, and how many seconds each thing takes.

    ``duration``: that others wait after the last sign of life. ``deadline``: within which the leader has to
    renew, or stop. ``retry``: between two attempts.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0


class Holder(Enum):
    WE = "the lease is ours"
    OTHERS = "it is somebody else's"
    UNCLEAR = "the server did not say"


Attempt = Generator[Request, Response, Holder]


class Claim:
    """What one who wants a lease knows of it. Nothing is sent here; time is an argument."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._path = _LEASES.path(terms.namespace, terms.name)
        self._ours: Json | None = None  # the lease as we wrote it last
        self._version = ""
        self._changed_at = -inf  # by our clock, when that version was seen first
        self.refusal = ""  # why it is unclear whose it is, in the server's words

    def attempt(self, now: float, today: float) -> Attempt:
        """Takes the lease, or renews it. ``now`` is a clock that only goes on, ``today`` the time of day."""
        if self._ours is not None:
            response = yield self._put(self._renewed(self._ours, today))
            if response.is_success:
                return self._noted(response)
        current = yield Request("GET", self._path)
        if current.status == HTTPStatus.NOT_FOUND:
            return (yield from self._created(today))
        if not current.is_success:
            return self._unclear(current)
        lease = current.object
        self._see(lease, now)
        if self._is_taken(lease, now):
            self._ours = None
            return Holder.OTHERS
        return self._noted((yield self._put(self._renewed(lease, today))))

    def release(self, today: float) -> Generator[Request, Response, None]:
        """So that nobody has to wait until it is free."""
        if self._ours is not None:
            lease = self._renewed(self._ours, today)
            lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            yield self._put(lease)
            self._ours = None

    def _created(self, today: float) -> Attempt:
        meta = {"namespace": self._terms.namespace, "name": self._terms.name}
        lease = self._renewed({"metadata": meta, "spec": {}}, today)
        path = _LEASES.path(self._terms.namespace)
        return self._noted((yield Request("POST", path, (), msgspec.json.encode(lease))))

    def _noted(self, response: Response) -> Holder:
        if not response.is_success:
            self._ours = None
            return self._unclear(response)
        self._ours, self.refusal = response.object, ""
        return Holder.WE

    def _unclear(self, response: Response) -> Holder:
        if response.status != HTTPStatus.CONFLICT:  # somebody was quicker, which is nothing unusual
            self.refusal = response.message
        return Holder.UNCLEAR

    def _see(self, lease: Json, now: float) -> None:
        version = lease["metadata"]["resourceVersion"]
        if version != self._version:
            self._version, self._changed_at = version, now

    def _is_taken(self, lease: Json, now: float) -> bool:
        spec = lease.get("spec") or {}
        holder, duration = spec.get("holderIdentity"), spec.get("leaseDurationSeconds") or 0
        return holder not in (None, "", self._terms.identity) and now < self._changed_at + duration

    def _renewed(self, lease: Json, today: float) -> Json:
        old, moment = lease.get("spec") or {}, micro_stamp(today)
        ours = old.get("holderIdentity") == self._terms.identity
        begun = "acquireTime" in old
        spec = {
            **old,
            "holderIdentity": self._terms.identity,
            "leaseDurationSeconds": int(self._terms.duration),
            "acquireTime": old["acquireTime"] if ours and begun else moment,
            "renewTime": moment,
            "leaseTransitions": old.get("leaseTransitions", 0) + (begun and not ours),
        }
        head = {"apiVersion": _LEASES.api_version, "kind": _LEASES.kind}
        return {**head, "metadata": lease["metadata"], "spec": spec}

    def _put(self, lease: Json) -> Request:
        return Request("PUT", self._path, (), msgspec.json.encode(lease))


@dataclass(frozen=True, slots=True)
class _Moment:
    """By a clock that only goes on, and by the time of day."""

    steady: float
    today: float

    def since(self, other: "_Moment") -> float:
        """How many seconds have passed for certain, or more."""
        return max(self.steady - other.steady, self.today - other.today)


class Election:
    """Attempts, one after the other, and for how long the last good one counts."""

    def __init__(self, connection: Connection, terms: Terms, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._terms = terms
        self._clock = clock
        self._claim = Claim(terms)
        self._renewed: _Moment | None = None  # when we began to ask for it, and it was ours
        self._released = False

    def seconds_left(self) -> float:
        """For how long we lead for certain if nothing more is heard; no more than nothing if we do not."""
        return -inf if self._renewed is None or self._released else self._terms.deadline - self._age()

    def may_ask_for(self) -> float:
        """For how long the lease may be written: whoever led has to renew it in time, or to let it be."""
        return inf if self._renewed is None else self._terms.deadline - self._age()

    def _age(self) -> float:
        return self._now().since(self._renewed) if self._renewed is not None else inf

    def _now(self) -> _Moment:
        return _Moment(asyncio.get_running_loop().time(), self._clock())

    async def win(self) -> None:
        """Returns when we lead."""
        while not await self._try():
            await asyncio.sleep(self._terms.retry)
        _log.info("%s leads", self._terms.identity)

    async def keep(self) -> None:
        """Renews the lease; returns when it is lost."""
        while (left := self.seconds_left()) > 0:
            await asyncio.sleep(min(self._terms.retry, left))
            try:
                async with asyncio.timeout(max(self.seconds_left(), 0.0)):
                    await self._try()
            except TimeoutError:
                break
        _log.warning("%s leads no longer", self._terms.identity)

    async def release(self) -> None:
        """Whatever was to be written must have been written before. A lease that was lost is left alone."""
        if self.seconds_left() <= 0:
            return
        self._released = True
        await asyncio.sleep(min(_SEEN_AFTER, self.may_ask_for()))
        try:
            async with asyncio.timeout(max(min(self._terms.retry, self.may_ask_for()), 0.0)):
                await self._connection.ask(self._claim.release(self._clock()))
        except (NoAnswerError, TimeoutError) as error:
            _log.info("the lease could not be released: %s", str(error) or "no answer in time")

    async def _try(self) -> bool:
        began, known = self._now(), self._claim.refusal
        try:
            holder = await self._connection.ask(self._claim.attempt(began.steady, began.today))
        except NoAnswerError as error:
            _log.info("the lease could not be asked for: %s", error)
            return False
        if holder is Holder.WE:
            # Others begin to count when the lease has changed, which was after we began to ask.
            self._renewed = began
        elif holder is Holder.OTHERS:
            self._renewed = None
        elif self._claim.refusal not in ("", known):  # the same every few seconds would be too much
            name = f"{self._terms.namespace}/{self._terms.name}"
            _log.warning("lease %s cannot be had: %s", name, self._claim.refusal)
        return holder is Holder.WE
