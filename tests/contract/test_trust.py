"""The certificates of a replica's own port: which it shows, whose it accepts, both exchanged meanwhile."""

import asyncio
import socket
import ssl
from pathlib import Path

import aiohttp
import pytest

from reprieve.assembly.endpoints import Observers, ReviewOptions, ServingEndpoint
from reprieve.assembly.trust import CertificateFiles, EndpointError, TlsOptions
from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve_minicluster.bootstrap import known_authorities
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import TOKEN, living_cluster
from tests.contract.issuing import client_certificate
from tests.contract.test_endpoints import BINDING, ROLE
from tests.contract.visiting import HERE, SOMEWHERE, Visitor, blind, pages, visited, visitor, write

ONE, OTHER = new_certificate((HERE,)), new_certificate((HERE,))
A_LITTLE_LATER = 31.0
NEXT_TIME = 61.0


def shows(*files: Path) -> ServingEndpoint:
    return ServingEndpoint(HERE, 0, CertificateFiles((files[0], files[1])))


# --- the one that it shows -------------------------------------------------------------------------


def test_a_certificate_is_exchanged_while_it_is_served(tmp_path: Path) -> None:
    async def visit(one: Visitor) -> None:
        assert await one.shown() == ONE.certificate
        write(tmp_path, OTHER)
        assert await one.shown() == ONE.certificate
        await asyncio.sleep(A_LITTLE_LATER)
        assert await one.shown() == OTHER.certificate

    visited(visit, shows(*write(tmp_path, ONE)))


HALF = OTHER.certificate[: len(OTHER.certificate) // 2]


@pytest.mark.parametrize(
    "bad",
    [
        Certificate(HALF, ONE.key),
        Certificate(OTHER.certificate, ONE.key),
        Certificate(ONE.certificate, OTHER.key),
        Certificate(b"", b""),
    ],
    ids=["half of it", "another certificate", "another key", "nothing"],
)
def test_the_one_from_before_stays_until_the_new_one_is_whole(
    tmp_path: Path, bad: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    async def visit(one: Visitor) -> None:
        write(tmp_path, bad)
        for _ in range(5):
            await asyncio.sleep(A_LITTLE_LATER)
            assert await one.shown() == ONE.certificate
        told = [
            record.getMessage()
            for record in caplog.records
            if "keeping the previous certificates" in record.getMessage()
        ]
        assert len(told) == 1
        assert "expected a certificate and its key" in told[0]
        write(tmp_path, OTHER)
        await asyncio.sleep(A_LITTLE_LATER)
        assert await one.shown() == OTHER.certificate

    visited(visit, shows(*write(tmp_path, ONE)))


def test_a_file_that_goes_away_for_a_while(tmp_path: Path) -> None:
    async def visit(one: Visitor) -> None:
        (tmp_path / "tls.key").unlink()
        await asyncio.sleep(A_LITTLE_LATER)
        assert await one.shown() == ONE.certificate

    visited(visit, shows(*write(tmp_path, ONE)))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            CertificateFiles((Path("/nowhere"), Path("/nowhere"))),
            "--tls-cert-file: /nowhere: cannot be read: no such file",
        ),
        (CertificateFiles((Path(__file__), Path(__file__))), "expected a certificate and its key"),
        (CertificateFiles(clients=Path("/nowhere")), "--client-ca-file: /nowhere: cannot be read"),
        (
            CertificateFiles(clients=Path(__file__)),
            "--client-ca-file: expected certificates of authorities, as PEM",
        ),
    ],
)
def test_files_that_are_no_good_from_the_beginning(files: CertificateFiles, told: str) -> None:
    async def main() -> None:
        async with visitor(ServingEndpoint(HERE, 0, files)):
            pass

    with pytest.raises(EndpointError, match=told):
        run(main())


def test_ciphers_that_are_wanted_and_no_others() -> None:
    async def visit(one: Visitor) -> None:
        assert await one.spoken(ssl.TLSVersion.TLSv1_2) == CIPHER
        assert (await one.spoken(ssl.TLSVersion.TLSv1_3)).startswith("TLS_")

    visited(visit, ServingEndpoint(HERE, 0, tls=TlsOptions(ciphers=(CIPHER,))))


CIPHER = "ECDHE-ECDSA-AES128-GCM-SHA256"


def test_nothing_older_than_what_is_wanted() -> None:
    async def visit(one: Visitor) -> None:
        assert (await one.spoken(ssl.TLSVersion.TLSv1_3)).startswith("TLS_")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await one.spoken(ssl.TLSVersion.TLSv1_2)

    visited(visit, ServingEndpoint(HERE, 0, tls=TlsOptions(ssl.TLSVersion.TLSv1_3)))


def test_unknown_ciphers() -> None:
    with pytest.raises(EndpointError, match="--tls-cipher-suites"):
        visited(_nothing, ServingEndpoint(HERE, 0, tls=TlsOptions(ciphers=("ROT13",))))


async def _nothing(_: Visitor) -> None:
    """Clients that connect do nothing."""


# --- those that it accepts -------------------------------------------------------------------------

AUTHORITY, STRANGER = new_authority("ca"), new_authority("ca")
SCRAPER = client_certificate(AUTHORITY, "prometheus", ("scrapers", "monitoring"))
SUBJECT = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "scrapers"}


async def tell(one: Visitor, authority: Certificate, after: float = NEXT_TIME) -> None:
    """As the API server publishes it, and publishes it again when the client CA changes."""
    body = known_authorities(authority.certificate.decode(), for_proxies="")
    meta = body["metadata"]
    if await one.operator.read("ConfigMap", meta["namespace"], meta["name"]) is not None:
        await one.operator.delete("ConfigMap", meta["namespace"], meta["name"])
    await one.operator.create(body)
    await asyncio.sleep(after)


async def admit_scrapers(one: Visitor) -> None:
    await one.operator.create(ROLE)
    await one.operator.create({**BINDING, "subjects": [SUBJECT]})


def test_a_client_certificate_names_the_user() -> None:
    async def visit(one: Visitor) -> None:
        await tell(one, AUTHORITY)
        told = 'forbidden: User "prometheus" cannot get path "/metrics"\n'
        assert await one.get("/metrics", own=SCRAPER) == (403, told)
        await admit_scrapers(one)
        await asyncio.sleep(11)
        assert (await one.get("/metrics", own=SCRAPER))[0] == 200
        assert (await one.get("/configz", own=SCRAPER))[0] == 403
        assert (await one.get("/metrics"))[0] == 403
        assert (await one.get("/metrics", TOKEN))[0] == 200

    visited(visit)


def test_the_reviews_that_are_sent() -> None:
    async def visit(one: Visitor) -> None:
        await tell(one, AUTHORITY)
        one.operator.front.writes.clear()
        await one.get("/metrics", own=SCRAPER)
        ((_, path, body),) = one.operator.front.writes
        assert path.endswith("/subjectaccessreviews")
        assert body["spec"]["user"] == "prometheus"
        assert body["spec"]["groups"] == ["scrapers", "monitoring", "system:authenticated"]

    visited(visit)


def test_system_masters_need_no_review() -> None:
    async def visit(one: Visitor) -> None:
        await tell(one, AUTHORITY)
        await one.operator.server.stop()
        master = client_certificate(AUTHORITY, "admin", ("system:masters",))
        assert (await one.get("/metrics", own=master))[0] == 200
        assert (await one.get("/metrics", own=SCRAPER))[0] == 503

    visited(visit)


def test_certificates_of_strangers_are_not_accepted() -> None:
    async def visit(one: Visitor) -> None:
        await tell(one, AUTHORITY)
        with pytest.raises(aiohttp.ClientError):
            await one.get("/metrics", own=client_certificate(STRANGER, "prometheus", ("scrapers",)))
        assert (await one.get("/livez"))[0] == 200

    visited(visit)


def test_the_client_ca_is_rotated() -> None:
    async def visit(one: Visitor) -> None:
        await admit_scrapers(one)
        await tell(one, AUTHORITY)
        assert (await one.get("/metrics", own=SCRAPER))[0] == 200
        await tell(one, STRANGER)
        with pytest.raises(aiohttp.ClientError):
            await one.get("/metrics", own=SCRAPER)
        theirs = client_certificate(STRANGER, "prometheus", ("scrapers",))
        assert (await one.get("/metrics", own=theirs))[0] == 200

    visited(visit)


def test_connections_do_not_outlive_the_trust_in_their_certificate(tmp_path: Path) -> None:
    files = write(tmp_path, ONE)

    async def visit(one: Visitor) -> None:
        await admit_scrapers(one)
        await tell(one, AUTHORITY)
        kept = blind(SCRAPER)
        assert (await one.get_over(kept, "/metrics"))[0] == 200
        write(tmp_path, OTHER)
        await asyncio.sleep(A_LITTLE_LATER)
        assert (await one.get_over(kept, "/metrics"))[0] == 200
        await tell(one, STRANGER, after=30.0)
        assert await one.get_over(kept, "/metrics") == (403, NOBODY_MAY)
        assert (await one.get_over(kept, "/metrics", TOKEN))[0] == 200

    visited(visit, shows(*files))


NOBODY_MAY = 'forbidden: User "system:anonymous" cannot get path "/metrics"\n'


def test_a_client_ca_file_wins_over_the_server(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(AUTHORITY.certificate)

    async def visit(one: Visitor) -> None:
        await admit_scrapers(one)
        await tell(one, STRANGER)
        assert (await one.get("/metrics", own=SCRAPER))[0] == 200
        file.write_bytes(STRANGER.certificate)
        await asyncio.sleep(A_LITTLE_LATER)
        with pytest.raises(aiohttp.ClientError):
            await one.get("/metrics", own=SCRAPER)

    visited(visit, ServingEndpoint(HERE, 0, CertificateFiles(clients=file)))


def test_without_a_client_ca_only_tokens_count(caplog: pytest.LogCaptureFixture) -> None:
    async def visit(one: Visitor) -> None:
        await asyncio.sleep(5 * NEXT_TIME)
        assert (await one.get("/metrics", own=SCRAPER))[0] == 403
        assert (await one.get("/metrics", TOKEN, SCRAPER))[0] == 200
        told = [r.getMessage() for r in caplog.records if "client certificates cannot" in r.getMessage()]
        (sentence,) = told
        assert 'configmaps "extension-apiserver-authentication" not found' in sentence

    visited(visit)


@pytest.mark.parametrize("looks_up", [True, False])
def test_a_required_client_ca_lookup_must_succeed(looks_up: bool) -> None:
    async def main() -> None:
        review_options = ReviewOptions(looks_up=looks_up, must_learn=True)
        async with (
            living_cluster(clock) as operator,
            pages(operator, SOMEWHERE, Observers(), review_options),
        ):
            assert not looks_up

    if looks_up:
        with pytest.raises(EndpointError, match="not found"):
            run(main())
    else:
        run(main())


# --- paths and users that need no review -------------------------------------------------------------


def test_always_allowed_paths_can_be_chosen() -> None:
    async def visit(one: Visitor) -> None:
        assert (await one.get("/metrics"))[0] == 200
        assert (await one.get("/configz"))[0] == 403
        assert (await one.get("/livez"))[0] == 403
        assert (await one.get("/healthz"))[0] == 200

    visited(visit, ServingEndpoint(HERE, 0, for_all=("metr*", "/healthz")))


def test_any_address_means_those_of_all_families_that_there_are() -> None:
    async def visit(one: Visitor) -> None:
        assert (await one.get("/livez"))[0] == 200
        if socket.has_ipv6 and _has_ipv6_loopback():
            url = f"https://[::1]:{one.port}/livez"
            async with one.session.get(url, ssl=False) as response:
                assert response.status == 200

    visited(visit, ServingEndpoint("0.0.0.0", _free_port()))


def _has_ipv6_loopback() -> bool:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        return int(probe.getsockname()[1])
