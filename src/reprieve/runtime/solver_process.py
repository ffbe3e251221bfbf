"""A solver in a process of its own, which can be ended: it may hang, crash, or use up the memory.

Started at first use, as a new program, so that no thread is forked. It is handed messages and nothing else.
If an answer is not needed any more, or does not come, the process is killed, and the next message starts
another.
"""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from time import monotonic

from reprieve.runtime.solver_worker import ANSWER, REQUEST

_log = logging.getLogger(__name__)

_COMMAND = (sys.executable, "-P", "-m", "reprieve.runtime.solver_worker")


class WorkerProcess:
    def __init__(self) -> None:
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def solve(self, message: bytes) -> bytes | None:
        sent = monotonic()
        if self._process is None or self._process.returncode is not None:
            self._process = await _started()
        try:
            return await _answered(self._process, message, sent)
        except (asyncio.IncompleteReadError, OSError):
            _log.warning("the solver process ended before it answered: the first plan is used")
            await self.close()
            return None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _started() -> Process:
    """Modules are looked for where this process finds them, and not in the working directory."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE, env=environ)


async def _answered(process: Process, message: bytes, sent: float) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(REQUEST.pack(len(message), sent) + message)
    await process.stdin.drain()
    (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
    return await process.stdout.readexactly(length)
