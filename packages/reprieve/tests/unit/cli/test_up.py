"""Why a cluster cannot be reached where it was to be."""

import errno
import socket

from click.testing import CliRunner

from reprieve_minicluster.commands.up import unavailable, up


def test_a_gate_that_does_not_exist_is_refused() -> None:
    result = CliRunner().invoke(up, ["--feature-gates", "GangScheduling=true,Gangs=true"])
    assert result.exit_code == 2
    assert "feature gate Gangs: unknown" in result.output


def test_each_reason_has_its_sentence() -> None:
    taken, unknown = OSError(errno.EADDRINUSE, "in use"), socket.gaierror(-2, "Name or service not known")
    assert unavailable(taken, "h", 7) == "--port: 7 of h is in use: choose another"
    assert unavailable(unknown, "h", 7) == "--host: h cannot be resolved: name or service not known"
    assert (
        unavailable(OSError(errno.EACCES, "no"), "h", 7)
        == "--port: cannot listen on 7 of h: permission denied"
    )
