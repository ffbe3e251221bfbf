"""By what clients know a cluster again, and it knows them: its token, its certificate, and the authority that
vouches for clients; made once and kept with it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve.cluster.mini.disk import Disk
from reprieve.cluster.mini.rest.access import new_token
from reprieve.cluster.mini.setup import LOOPBACK


@dataclass(frozen=True, slots=True)
class Identity:
    """``clients``: the authority whose certificates say who somebody is."""

    token: str
    certificate: Certificate
    clients: Certificate


def identity_of(disk: Disk | None, host: str) -> Identity:
    """A certificate is for one host; whoever served another one before keeps its token."""
    if disk is None:
        return Identity(new_token(), _certificate(host), _authority())
    token = disk.note("token") or new_token()
    disk.write_note("token", token)
    certificate = _kept(disk, f"certificate for {host}", partial(_certificate, host))
    return Identity(token, certificate, _kept(disk, "authority for clients", _authority))


def _kept(disk: Disk, name: str, make: Callable[[], Certificate]) -> Certificate:
    written = disk.note(name)
    certificate = msgspec.json.decode(written, type=Certificate) if written else make()
    disk.write_note(name, msgspec.json.encode(certificate).decode())
    return certificate


def _certificate(host: str) -> Certificate:
    return new_certificate((host, LOOPBACK, "localhost"))


def _authority() -> Certificate:
    return new_authority("reprieve-client-ca")
