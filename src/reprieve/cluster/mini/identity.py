"""By what clients know a cluster again: its token and its certificate, made once and kept with it."""

from dataclasses import dataclass

import msgspec

from reprieve.cluster.certificates import Certificate, new_certificate
from reprieve.cluster.mini.disk import Disk
from reprieve.cluster.mini.rest.access import new_token
from reprieve.cluster.mini.setup import LOOPBACK


@dataclass(frozen=True, slots=True)
class Identity:
    token: str
    certificate: Certificate


def identity_of(disk: Disk | None, host: str) -> Identity:
    """A certificate is for one host; whoever served another one before keeps its token."""
    if disk is None:
        return Identity(new_token(), _certificate(host))
    token = disk.note("token") or new_token()
    written = disk.note(f"certificate for {host}")
    certificate = msgspec.json.decode(written, type=Certificate) if written else _certificate(host)
    disk.write_note("token", token)
    disk.write_note(f"certificate for {host}", msgspec.json.encode(certificate).decode())
    return Identity(token, certificate)


def _certificate(host: str) -> Certificate:
    return new_certificate((host, LOOPBACK, "localhost"))
