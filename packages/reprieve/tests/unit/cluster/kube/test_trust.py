"""TLS of a connection: server certificates, client certificates, proxies."""

import asyncio
import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.unit.cluster.kube.listening import always, listening, once, text

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.kube.requests import KubeRequest
from reprieve.cluster.port import Answer, Refused, Succeeded
from reprieve_minicluster.virtual_time import run
from tests.contract.issuing import client_certificate as issued

OK = text("200 OK")
WRITE = KubeRequest("POST", "/api/v1/pods", (), b"{}")


def data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def tls_answer(
    server: Certificate, cluster: dict[str, Any], user: KubeconfigUser, client: Certificate | None = None
) -> Answer:
    """How a write ends at a server with that certificate, which wants to see the client's if one is given."""
    context = server.context()
    if client is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client.certificate.decode())

    async def main() -> Answer:
        async with listening(always(OK), context) as listener:
            login = Login(KubeconfigCluster(server=f"https://127.0.0.1:{listener.port}", **cluster), user)
            async with connected(Access(login)) as connection:
                return await connection.perform(once(WRITE))

    return asyncio.run(main())


HERE, ELSEWHERE = new_certificate(("127.0.0.1",)), new_certificate(("api.example",))
NOBODY = KubeconfigUser()


def test_only_a_server_that_we_mean_is_spoken_to() -> None:
    trusted = {"certificate_authority_data": data(HERE.certificate)}
    assert tls_answer(HERE, trusted, NOBODY) == Succeeded()
    for cluster, server in ((trusted, ELSEWHERE), ({}, HERE)):
        refused = tls_answer(server, cluster, NOBODY)
        assert isinstance(refused, Refused)
        assert "certificate" in refused.error.lower()
    other_name = {"certificate_authority_data": data(ELSEWHERE.certificate)}
    assert isinstance(tls_answer(ELSEWHERE, other_name, NOBODY), Refused)
    assert tls_answer(ELSEWHERE, {**other_name, "tls_server_name": "api.example"}, NOBODY) == Succeeded()


def test_verification_is_given_up_only_on_demand() -> None:
    assert tls_answer(ELSEWHERE, {"insecure_skip_tls_verify": True}, NOBODY) == Succeeded()


def test_a_client_certificate_is_shown() -> None:
    trusted = {"certificate_authority_data": data(HERE.certificate)}
    ours = client_certificate()
    user = KubeconfigUser(client_certificate_data=data(ours.certificate), client_key_data=data(ours.key))
    assert tls_answer(HERE, trusted, user, client=ours) == Succeeded()
    assert tls_answer(HERE, trusted, NOBODY, client=ours) != Succeeded()


def client_certificate() -> Certificate:
    """One that does not say what it is for."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "reprieve")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return Certificate(
        made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )


def answers_before_and_after(
    server: ssl.SSLContext, cluster: KubeconfigCluster, user: KubeconfigUser, renew: Any
) -> list[Answer]:
    """Of a server that does not trust us, or we not it, until ``renew`` is called."""

    async def main() -> list[Answer]:
        async with listening(always(OK), server) as listener:
            there = msgspec.structs.replace(cluster, server=f"https://127.0.0.1:{listener.port}")
            async with connected(Access(Login(there, user))) as connection:
                before = await connection.perform(once(WRITE))
                renew()
                return [before, await connection.perform(once(WRITE))]

    return run(main())


def test_another_authority_in_the_file_counts_as_soon_as_the_old_one_is_of_no_use(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.write_bytes(ELSEWHERE.certificate)
    cluster = KubeconfigCluster(certificate_authority=str(file))
    before, after = answers_before_and_after(
        HERE.context(), cluster, NOBODY, lambda: file.write_bytes(HERE.certificate)
    )
    assert isinstance(before, Refused)
    assert after == Succeeded()


def test_another_certificate_of_ours_is_shown_as_soon_as_the_old_one_is_refused(tmp_path: Path) -> None:
    old, new = new_authority("ca"), new_authority("ca")

    def write(ours: Certificate) -> None:
        (tmp_path / "tls.crt").write_bytes(ours.certificate)
        (tmp_path / "tls.key").write_bytes(ours.key)

    write(issued(old, "reprieve"))
    user = KubeconfigUser(client_certificate=str(tmp_path / "tls.crt"), client_key=str(tmp_path / "tls.key"))
    cluster = KubeconfigCluster(certificate_authority_data=data(HERE.certificate))
    server = HERE.context(new.certificate)
    before, after = answers_before_and_after(server, cluster, user, lambda: write(issued(new, "reprieve")))
    assert not isinstance(before, Succeeded)
    assert after == Succeeded()


def test_a_proxy_leads_to_a_server_that_speaks_tls_and_learns_nothing() -> None:
    """The proxy is told where to go, and then passes on what it cannot read."""
    seen: list[bytes] = []

    async def main() -> Answer:
        async with listening(always(OK), HERE.context()) as server:

            async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                seen.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
                behind, onwards = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there, back = _passed_on(reader, onwards), _passed_on(behind, writer)
                pumps = [asyncio.create_task(there), asyncio.create_task(back)]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                writer.close()
                onwards.close()

            listener = await asyncio.start_server(proxy, "127.0.0.1", 0)
            address = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
            cluster = KubeconfigCluster(
                server="https://api.invalid:6443",
                proxy_url=address,
                tls_server_name="127.0.0.1",
                certificate_authority_data=data(HERE.certificate),
            )
            async with connected(Access(Login(cluster, NOBODY))) as connection:
                answer = await connection.perform(once(WRITE))
            listener.close()
            return answer

    assert asyncio.run(main()) == Succeeded()
    assert seen == [b"CONNECT api.invalid:6443 HTTP/1.1"]


async def _passed_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while part := await source.read(4096):
        sink.write(part)


def test_a_proxy_is_asked_for_the_way() -> None:
    async def main() -> None:
        async with listening(always(OK)) as proxy:
            environ = {"HTTP_PROXY": f"http://me:secret@127.0.0.1:{proxy.port}"}
            login = Login(KubeconfigCluster(server="http://api.invalid:6443"), NOBODY)
            async with connected(Access(login, environ)) as connection:
                assert await connection.perform(once(WRITE)) == Succeeded()
            assert proxy.heads[0][1].startswith("POST http://api.invalid:6443/api/v1/pods HTTP/1.1")
            assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in proxy.heads[0][1]

    run(main())
