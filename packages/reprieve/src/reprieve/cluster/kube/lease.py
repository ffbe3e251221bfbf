"""Leader election: the replica whose identity is on a Lease leads while it renews the Lease in time.

The protocol is client-go's, so that replicas of both kinds can compete for one Lease. No replica trusts the
clock of another: a candidate takes the Lease when it has not changed for its duration by the candidate's own
clock. The leader stops earlier than that (``deadline`` < ``duration``), by whichever of its two clocks is
ahead: the monotonic clock may stop while the machine is suspended, and the wall clock may be set back.
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
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.model.json import Json
from reprieve.model.moment import Moment

_log = logging.getLogger(__name__)


_SEEN_AFTER = 1.0  # seconds, at most, until the watches of other replicas have shown our last write
_LEASES = RestMapping("Lease", "leases", "coordination.k8s.io/v1")


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Which Lease, the identity of this replica, and times in seconds.

    ``duration``: how long the Lease must be unchanged before another replica takes it. ``deadline``: the
    leader stops if it has not renewed for so long. ``retry``: between two attempts.
    """

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0


class LeaseHolder(Enum):
    SELF = "this replica"
    OTHER = "another replica"
    UNKNOWN = "the server did not say"


Attempt = Generator[KubeRequest, KubeResponse, LeaseHolder]


class LeaseClaim:
    """What one candidate knows of the Lease. Nothing is sent here; time is an argument."""

    def __init__(self, terms: LeaseTerms) -> None:
        self._terms = terms
        self._path = _LEASES.path(terms.namespace, terms.name)
        self._ours: Json | None = None  # the Lease as the server stored our last write
        self._version = ""
        self._changed_at = -inf  # when that version was first seen, by our clock
        self.refusal = ""  # why the holder is unknown: the server's message

    def attempt(self, now: float, today: float) -> Attempt:
        """Acquires or renews the Lease. ``now``: a monotonic clock. ``today``: Unix time."""
        # The holder writes without reading first. The resource version of its last write guards the update:
        # if another replica has taken the Lease since, the update conflicts and the Lease is read after all.
        if self._ours is not None:
            response = yield self._put(self._renewed(self._ours, today))
            if response.is_success:
                return self._noted(response)
        current = yield KubeRequest("GET", self._path)
        if current.status == HTTPStatus.NOT_FOUND:
            return (yield from self._created(today))
        if not current.is_success:
            return self._unknown(current)
        lease = current.object
        self._see(lease, now)
        if self._is_taken(lease, now):
            self._ours = None
            return LeaseHolder.OTHER
        # Two candidates may get here together: the resource version lets only one of the updates through.
        return self._noted((yield self._put(self._renewed(lease, today))))

    def release(self, today: float) -> Generator[KubeRequest, KubeResponse, None]:
        """Clears the holder, so that another replica can take over without waiting for ``duration``."""
        if self._ours is not None:
            lease = self._renewed(self._ours, today)
            lease["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
            yield self._put(lease)
            self._ours = None

    def _created(self, today: float) -> Attempt:
        meta = {"namespace": self._terms.namespace, "name": self._terms.name}
        lease = self._renewed({"metadata": meta, "spec": {}}, today)
        path = _LEASES.path(self._terms.namespace)
        return self._noted((yield KubeRequest("POST", path, (), msgspec.json.encode(lease))))

    def _noted(self, response: KubeResponse) -> LeaseHolder:
        if not response.is_success:
            self._ours = None
            return self._unknown(response)
        self._ours, self.refusal = response.object, ""
        return LeaseHolder.SELF

    def _unknown(self, response: KubeResponse) -> LeaseHolder:
        if response.status != HTTPStatus.CONFLICT:  # another replica was faster, which is normal
            self.refusal = response.message
        return LeaseHolder.UNKNOWN

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

    def _put(self, lease: Json) -> KubeRequest:
        return KubeRequest("PUT", self._path, (), msgspec.json.encode(lease))


class Election:
    """Attempts, one after another, and how long the last successful one counts."""

    def __init__(self, connection: Connection, terms: LeaseTerms, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._terms = terms
        self._clock = clock
        self._claim = LeaseClaim(terms)
        self._renewed: Moment | None = None  # the start of the last successful attempt
        self._released = False

    def seconds_left(self) -> float:
        """Tell for how long this replica certainly leads without a renewal; 0 or less if it does not lead."""
        return -inf if self._renewed is None or self._released else self._terms.deadline - self._age()

    def may_write_lease_for(self) -> float:
        """Tell for how long the Lease may be written: a former leader must renew in time, or not at all.

        A candidate that has never led may always try. A leader past its deadline may not: its late write
        could overtake that of the next leader.
        """
        return inf if self._renewed is None else self._terms.deadline - self._age()

    def _age(self) -> float:
        """Seconds since then: never less than really passed, as long as one of the clocks went on."""
        if self._renewed is None:
            return inf
        now = self._now()
        return max(now.elapsed - self._renewed.elapsed, now.wall - self._renewed.wall)

    def _now(self) -> Moment:
        return Moment(self._clock(), asyncio.get_running_loop().time())

    async def win(self) -> None:
        """Returns when this replica leads."""
        while not await self._try():
            await asyncio.sleep(self._terms.retry)
        _log.info("%s acquired the lease and leads", self._terms.identity)

    async def keep(self) -> None:
        """Renews the Lease; returns when leadership is lost."""
        while (left := self.seconds_left()) > 0:
            await asyncio.sleep(min(self._terms.retry, left))
            try:
                async with asyncio.timeout(max(self.seconds_left(), 0.0)):
                    await self._try()
            except TimeoutError:
                break
        _log.warning("%s lost the lease and no longer leads", self._terms.identity)

    async def release(self) -> None:
        """Hands leadership over. All other writes must have ended; a Lease that was lost is left alone.

        The order matters: first ``seconds_left`` turns negative, which stops further writes. Then the watches
        of the other replicas catch up with our last writes. Only then may the next leader begin: it would
        otherwise decide on a state without them.
        """
        if self.seconds_left() <= 0:
            return
        self._released = True
        await asyncio.sleep(min(_SEEN_AFTER, self.may_write_lease_for()))
        try:
            async with asyncio.timeout(max(min(self._terms.retry, self.may_write_lease_for()), 0.0)):
                await self._connection.run(self._claim.release(self._clock()))
        except (NoAnswerError, TimeoutError) as error:
            _log.info("the lease was not released: %s", str(error) or "no answer in time")

    async def _try(self) -> bool:
        began, known = self._now(), self._claim.refusal
        try:
            holder = await self._connection.run(self._claim.attempt(began.elapsed, began.wall))
        except NoAnswerError as error:
            _log.info("the attempt to get or renew the lease failed: %s", error)
            return False
        if holder is LeaseHolder.SELF:
            # Counted from the start of the attempt: other replicas count from the moment they see the write,
            # which is later. So our deadline passes first, whatever the request took.
            self._renewed = began
        elif holder is LeaseHolder.OTHER:
            self._renewed = None
        elif self._claim.refusal not in ("", known):  # once, and not at every retry
            name = f"{self._terms.namespace}/{self._terms.name}"
            _log.warning("lease %s cannot be acquired: %s", name, self._claim.refusal)
        return holder is LeaseHolder.SELF
