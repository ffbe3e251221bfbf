"""Keeps tasks running: one that fails is logged and started again; a check tells if it cannot go on.

Every unexpected exception is logged here, with what failed and its traceback.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from reprieve.supervision.quarantine import PAUSES

_log = logging.getLogger(__name__)

_MOST_FAILURES = 3  # in a row; from then on a restart of the process is the better hope
_STEADY_SECONDS = 60.0  # a task that has run for so long since its last failure goes on

HealthCheck = tuple[str, str]  # its name, and what is wrong; empty if nothing is


def log_mishap(what: str, error: BaseException, retry_in: float | None = None) -> None:
    """``what``: the component, its step, and the object if there is one."""
    then = "" if retry_in is None else f"; retrying in {retry_in:g} s"
    _log.error("%s failed: %s%s", what, description_of(error), then, exc_info=error)


def description_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def probe(name: str, checks: Iterable[HealthCheck], *, verbose: bool) -> tuple[bool, str]:
    """Whether all checks pass, and the text of the answer; ``name``: that of the probe, as in livez."""
    results = list(checks)
    passes = not any(wrong for _, wrong in results)
    if passes and not verbose:
        return True, "ok"
    lines = [f"[-]{check} failed: {wrong}" if wrong else f"[+]{check} ok" for check, wrong in results]
    return passes, "\n".join([*lines, f"{name} check {'passed' if passes else 'failed'}", ""])


@dataclass(slots=True)
class _Supervised:
    """``started``: on the clock of the event loop; None while it waits to be started again."""

    task: asyncio.Task[None] | None = None
    started: float | None = None
    failures: int = 0
    last: str = ""


class Supervisor:
    def __init__(self) -> None:
        self._tasks: dict[str, _Supervised] = {}
        self._stuck = asyncio.Event()

    def start(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run a task until it returns or is cancelled; its name is its own."""
        supervised = self._tasks[name] = _Supervised()
        task = supervised.task = asyncio.create_task(self._keep_running(name, run, supervised), name=name)
        task.add_done_callback(lambda _: self._forget(name, supervised))
        return task

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks = [one.task for one in self._tasks.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def checks(self) -> Iterator[HealthCheck]:
        """One for each task; it fails if the task failed several times in a row.

        Another thread may ask, from an event loop with the same clock: each attribute is read once.
        """
        now = asyncio.get_running_loop().time()
        for name, one in list(self._tasks.items()):
            started = one.started
            steady = started is not None and now - started >= _STEADY_SECONDS
            stuck = one.failures >= _MOST_FAILURES and not steady
            yield name, f"failed {one.failures} times in a row: {one.last}" if stuck else ""

    async def until_stuck(self) -> str:
        """Returns a sentence once a task has failed several times in a row."""
        await self._stuck.wait()
        return next((f"{name} {wrong}" for name, wrong in self.checks() if wrong), "a task cannot go on")

    def _forget(self, name: str, supervised: _Supervised) -> None:
        if self._tasks.get(name) is supervised:
            del self._tasks[name]

    async def _keep_running(
        self, name: str, run: Callable[[], Coroutine[Any, Any, None]], one: _Supervised
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            one.started = began = loop.time()
            try:
                return await run()
            except Exception as error:
                one.started = None
                one.failures = 1 if loop.time() - began >= _STEADY_SECONDS else one.failures + 1
                one.last = description_of(error)
                if one.failures >= _MOST_FAILURES:
                    self._stuck.set()
                pause = PAUSES.after(one.failures)
                log_mishap(name, error, pause)
            await asyncio.sleep(pause)
