"""Responses, however their bytes arrive."""

import pytest

from reprieve.cluster.kube.http_response import HttpResponse, MalformedError, ResponseReader

WHOLE: dict[str, tuple[bytes, int, bytes, bool]] = {
    "length": (b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", 201, b"{}", True),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
        *(200, b"abc0123456789", True),
    ),
    "trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
        *(200, b"a", True),
    ),
    "interim": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        *(200, b"", True),
    ),
}


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("name", WHOLE)
def test_a_response_is_whole_with_its_last_byte(name: str, step: int) -> None:
    raw, status, body, keeps_open = WHOLE[name]
    reader = ResponseReader()
    pieces = [raw[i : i + step] for i in range(0, len(raw), step)]
    *early, last = [reader.feed(piece) for piece in pieces]
    assert early == [None] * len(early)
    assert last is not None
    assert (last.status, last.body, last.keeps_open) == (status, body, keeps_open)


def test_names_of_headers_are_in_lower_case() -> None:
    response = ResponseReader().feed(b"HTTP/1.1 429 Busy\r\nRETRY-After:  7 \r\nContent-Length: 0\r\n\r\n")
    assert response is not None
    assert response.headers["retry-after"] == "7"


def test_a_body_that_ends_with_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nab") is None
    assert reader.end() == HttpResponse(200, {}, b"ab", keeps_open=False)


@pytest.mark.parametrize("raw", [b"", *(raw[:-1] for raw, *_ in WHOLE.values())])
def test_a_response_that_is_cut_off_is_none(raw: bytes) -> None:
    reader = ResponseReader()
    assert reader.feed(raw) is None
    assert reader.end() is None


def test_what_follows_a_response_ends_the_use_of_its_connection() -> None:
    response = ResponseReader().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")
    assert response is not None
    assert (response.body, response.keeps_open) == (b"a", False)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"HTTP/1.1 200 OK\r\n" + b"x" * 300_000,
    ],
)
def test_what_is_no_response(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        ResponseReader().feed(raw)
