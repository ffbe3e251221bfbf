"""Leader election: how the Lease is read and written, and how long leadership is certain."""

import json

from reprieve.cluster.kube.lease import LeaseClaim, LeaseHolder, LeaseTerms
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse
from reprieve.model.json import Json

TODAY = 1_767_225_600.0


class Server:
    """Keeps one lease."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.asked: list[str] = []

    def answer(self, request: KubeRequest) -> KubeResponse:
        self.asked.append(request.method)
        body = json.loads(request.body or b"null")
        match request.method:
            case "GET":
                return self._shown(200) if self.lease is not None else KubeResponse(404)
            case "POST" if self.lease is not None:
                return KubeResponse(409)
            case "PUT" if self.lease is None:
                return KubeResponse(404)
            case "PUT" if body["metadata"].get("resourceVersion") != self._version:
                return KubeResponse(409)
        version = str(int(self._version or 0) + 1)
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        return self._shown(201)

    @property
    def _version(self) -> str:
        return str(self.lease["metadata"]["resourceVersion"]) if self.lease is not None else ""

    def _shown(self, status: int) -> KubeResponse:
        return KubeResponse(status, json.dumps(self.lease).encode())

    @property
    def spec(self) -> Json:
        assert self.lease is not None
        spec: Json = self.lease["spec"]
        return spec


def claim(identity: str) -> LeaseClaim:
    return LeaseClaim(LeaseTerms("kube-system", "reprieve", identity))


def attempt(one: LeaseClaim, server: Server, now: float) -> LeaseHolder:
    talking = one.attempt(now, TODAY + now)
    try:
        request = next(talking)
        while True:
            request = talking.send(server.answer(request))
    except StopIteration as end:
        holder: LeaseHolder = end.value
        return holder


def release(one: LeaseClaim, server: Server) -> None:
    for request in one.release(TODAY):
        server.answer(request)


def test_the_first_takes_it_and_renews_with_one_request() -> None:
    server, one = Server(), claim("one")
    assert attempt(one, server, 0) is LeaseHolder.SELF
    assert server.spec == {
        "holderIdentity": "one",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    server.asked.clear()
    assert attempt(one, server, 2) is LeaseHolder.SELF
    assert server.asked == ["PUT"]
    assert server.spec["renewTime"] == "2026-01-01T00:00:02.000000Z"
    assert server.spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"


def test_others_wait_until_it_has_not_changed_for_long_by_their_own_clock() -> None:
    server, one, two = Server(), claim("one"), claim("two")
    attempt(one, server, 1000)
    assert attempt(two, server, 0) is LeaseHolder.OTHER
    attempt(one, server, 1014)
    assert attempt(two, server, 14) is LeaseHolder.OTHER
    assert attempt(two, server, 28) is LeaseHolder.OTHER
    assert attempt(two, server, 29) is LeaseHolder.SELF
    assert (server.spec["holderIdentity"], server.spec["leaseTransitions"]) == ("two", 1)
    assert attempt(one, server, 1030) is LeaseHolder.OTHER


def test_what_is_released_is_free_at_once() -> None:
    server, one, two = Server(), claim("one"), claim("two")
    attempt(one, server, 0)
    assert attempt(two, server, 0) is LeaseHolder.OTHER
    release(one, server)
    assert attempt(two, server, 0.1) is LeaseHolder.SELF
    release(one, server)
    assert server.spec["holderIdentity"] == "two"


def test_an_answer_that_was_lost_is_looked_up() -> None:
    server, one = Server(), claim("one")
    attempt(one, server, 0)
    lost = one.attempt(2, TODAY + 2)
    server.answer(next(lost))  # the write happened, and its response was lost
    assert attempt(one, server, 4) is LeaseHolder.SELF
    assert server.spec["leaseTransitions"] == 0


def test_a_server_in_trouble_says_nothing_about_the_lease() -> None:
    talking = claim("one").attempt(0, TODAY)
    next(talking)
    try:
        talking.send(KubeResponse(500))
    except StopIteration as end:
        assert end.value is LeaseHolder.UNKNOWN


def test_two_candidates_create_it_together() -> None:
    server, one, two = Server(), claim("one"), claim("two")
    slow = two.attempt(0, TODAY)
    create = slow.send(server.answer(next(slow)))
    assert attempt(one, server, 0) is LeaseHolder.SELF
    try:
        slow.send(server.answer(create))
    except StopIteration as end:
        assert end.value is LeaseHolder.UNKNOWN
    assert server.spec["holderIdentity"] == "one"
