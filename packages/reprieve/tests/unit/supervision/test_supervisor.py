"""A task that fails is started again; one that fails again and again is told by its health check."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from reprieve.supervision.supervisor import Supervisor, probe
from reprieve_minicluster.virtual_time import run


def failing(
    lasts: float = 0.0, times: int = 1_000_000
) -> tuple[list[float], Callable[[], Coroutine[Any, Any, None]]]:
    """A task that fails so often after so many seconds, and then runs on; and when it was started."""
    started: list[float] = []

    async def task() -> None:
        started.append(asyncio.get_running_loop().time())
        await asyncio.sleep(lasts)
        if len(started) <= times:
            raise RuntimeError("it broke")
        await asyncio.Event().wait()

    return started, task


def lived(
    supervisor: Supervisor, seconds: float, **tasks: Callable[[], Coroutine[Any, Any, None]]
) -> dict[str, str]:
    """The results of the checks after so many seconds."""

    async def main() -> dict[str, str]:
        for name, task in tasks.items():
            supervisor.start(name, task)
        await asyncio.sleep(seconds)
        checks = dict(supervisor.checks())
        await supervisor.stop()
        return checks

    return run(main())


def test_it_is_started_again_ever_more_slowly(mishaps: list[logging.LogRecord]) -> None:
    started, task = failing()
    lived(Supervisor(), 20.0, task=task)
    assert started == [0, 1, 3, 7, 15]
    assert mishaps[0].getMessage() == "task failed: RuntimeError: it broke; retrying in 1 s"


@pytest.mark.usefixtures("mishaps")
def test_others_run_on() -> None:
    _, fails = failing()
    started, steady = failing(times=0)
    lived(Supervisor(), 20.0, fails=fails, steady=steady)
    assert started == [0]


@pytest.mark.usefixtures("mishaps")
@pytest.mark.parametrize(
    ("seconds", "told"),
    [(2.9, ""), (3.1, "failed 3 times in a row: RuntimeError: it broke")],
    ids=["it may recover", "it cannot go on"],
)
def test_its_check_fails_after_three_failures_in_a_row(seconds: float, told: str) -> None:
    assert lived(Supervisor(), seconds, task=failing()[1]) == {"task": told}


@pytest.mark.usefixtures("mishaps")
def test_a_task_that_runs_steadily_again_is_well() -> None:
    assert lived(Supervisor(), 7.0 + 59.0, task=failing(times=3)[1])["task"]
    assert lived(Supervisor(), 7.0 + 61.0, task=failing(times=3)[1]) == {"task": ""}


@pytest.mark.usefixtures("mishaps")
def test_failures_far_apart_do_not_add_up() -> None:
    started, task = failing(lasts=100.0)
    assert lived(Supervisor(), 1000.0, task=task) == {"task": ""}
    assert started[1] - started[0] == 101.0


def test_a_task_that_has_ended_has_no_check() -> None:
    async def task() -> None:
        pass

    assert lived(Supervisor(), 1.0, task=task) == {}


@pytest.mark.usefixtures("mishaps")
def test_a_caller_can_wait_for_a_task_that_cannot_go_on() -> None:
    async def main() -> tuple[str, float]:
        supervisor = Supervisor()
        supervisor.start("task", failing()[1])
        told = await supervisor.until_stuck()
        await supervisor.stop()
        return told, asyncio.get_running_loop().time()

    assert run(main()) == ("task failed 3 times in a row: RuntimeError: it broke", 3.0)


def test_what_a_probe_answers() -> None:
    well, ill = ("a", ""), ("b", "it broke")
    assert probe("livez", [well], verbose=False) == (True, "ok")
    assert probe("livez", [well], verbose=True) == (True, "[+]a ok\nlivez check passed\n")
    assert probe("livez", [well, ill], verbose=False) == (
        False,
        "[+]a ok\n[-]b failed: it broke\nlivez check failed\n",
    )
