"""Deliberate mistakes in the scheduler, each of which the simulation or the exploration of states must find.

`python -m tests.simulation.mutations` looks for each of them and says what found it; with a name, for one.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.source import ROOT

SOURCE = ROOT / "src" / "reprieve"

STATES = ("-m", "tests.simulation.reachable", "2")


PYTEST = ("-m", "pytest", "-qx", "-p", "no:cacheprovider")
# Crowds seldom draw a change that helps one pod of a group alone, or a node that gets its labels late.
WAITING = (*PYTEST, str(ROOT / "tests/properties/test_waiting_demands.py"))
WAKING = (*PYTEST, "-k", "wake-", str(ROOT / "tests/scenarios/test_scenarios.py"))


def seeds(*numbers: int) -> tuple[str, ...]:
    return ("-m", "tests.simulation", *map(str, numbers))


@dataclass(frozen=True, slots=True)
class Mutation:
    name: str
    file: str
    old: str
    new: str
    found_by: tuple[str, ...]  # arguments of python: what finds it fastest


MUTATIONS = (
    Mutation(
        "a lost wake-up: nobody looks at the preemptor when the last victim is gone",
        "scheduler/plan_driver.py",
        "    if handover.stage is Stage.READY:\n        state.queue.again(key)\n",
        "    if handover.stage is Stage.READY:\n        pass\n",
        STATES,
    ),
    Mutation(
        "a preemptor that nobody lets go after the calls",
        "scheduler/plan_driver.py",
        "        state.queue.let_wait(key, now)\n",
        "        pass\n",
        STATES,
    ),
    Mutation(
        "a missing precondition: a namesake of the victim is evicted",
        "cluster/mini/scheduler_calls.py",
        "store.delete(key_of_target(pod), uid=pod.uid)",
        "store.delete(key_of_target(pod))",
        seeds(14, 54, 99, 142),
    ),
    Mutation(
        "victims are evicted before they are marked",
        "scheduler/handover.py",
        "    (Stage.NOMINATED, Turn.ANSWERED): Stage.MARKING,\n",
        "    (Stage.NOMINATED, Turn.ANSWERED): Stage.EVICTING,\n",
        STATES,
    ),
    Mutation(
        "a mark that is not cleared: what an earlier run left stays",
        "scheduler/plan_driver.py",
        '    return {mark for mark in unused if mark.kind == "Pod" or state.runs_on(mark)}\n',
        "    return set()\n",
        STATES,
    ),
    Mutation(
        "a nomination that is not withdrawn",
        "scheduler/plan_driver.py",
        '    withdrawn = tuple(Nominate(pod, "") for pod in waiting)\n',
        "    withdrawn: tuple[Effect, ...] = ()\n",
        STATES,
    ),
    Mutation(
        "room that is not reserved",
        "scheduler/deciding.py",
        "    state.nominated.update(places)\n",
        "",
        seeds(2, 7, 8, 13),
    ),
    Mutation(
        "a plan that goes on after an eviction failed",
        "scheduler/plan_driver.py",
        "    yield from plan_anew(state, key, failure.reason, now)\n    if isinstance(found, Requester):\n",
        "    if isinstance(found, Requester):\n",
        STATES,
    ),
    Mutation(
        "a plan whose end is not recorded",
        "scheduler/plan_driver.py",
        "    state.plan_log.ended(key, reason, now)\n",
        "",
        STATES,
    ),
    Mutation(
        "evictions that are not judged when their preemptor is bound",
        "scheduler/enqueueing.py",
        "    pod_settled(state, key, pod, now)\n",
        "",
        STATES,
    ),
    Mutation(
        "an answer that was lost and is not asked for again",
        "scheduler/core.py",
        "                if state.plans.must_know(effect):\n                    return (effect,)\n",
        "",
        STATES,
    ),
    Mutation(
        "a victim that vanishes by itself is waited for",
        "scheduler/handover.py",
        "replace(handover, gone=handover.gone | {target}, pending=pending)",
        "replace(handover, pending=pending)",
        STATES,
    ),
    Mutation(
        "old news revive the dead",
        "scheduler/tombstones.py",
        "        return last is not None and",
        "        return False and last is not None and",
        seeds(3, 4, 15, 27, 29, 31),
    ),
    Mutation(
        "a clock that is put back stops all that waits",
        "scheduler/state.py",
        "        if now < self._now:\n",
        "        if False:\n",
        seeds(261, 419, 474, 639),
    ),
    Mutation(
        "a bind that failed keeps its room",
        "scheduler/binding.py",
        "    state.wake(state.world.withdraw((pod.namespace, pod.name)), now, assumed.node)\n",
        "",
        seeds(1, 8, 17, 18),
    ),
    Mutation(
        "a group is torn apart: only its first pod is evicted",
        "scheduler/handover.py",
        "    return (Evict(v) for v in handover.victims if v not in handover.elsewhere and",
        "    return (Evict(v) for v in handover.victims[:1] if v not in handover.elsewhere and",
        STATES,
    ),
    Mutation(
        "a lost wake-up: a group waits for what helps its first pod, and for nothing else",
        "placement/place.py",
        "        codes.update(rejection.reason.code for rejection in found.rejections)\n",
        "        codes = codes or {rejection.reason.code for rejection in found.rejections}\n",
        WAITING,
    ),
    Mutation(
        "a lost wake-up: a node that gets the label of a topology late",
        "scheduler/changes.py",
        "    Code.OUTSIDE_DOMAIN: _NEW_NODE | {Change.NODE_LABELS, Change.POD_LEFT},\n",
        "    Code.OUTSIDE_DOMAIN: _NEW_NODE,\n",
        WAKING,
    ),
)


@dataclass(frozen=True, slots=True)
class Hunt:
    found: bool
    last_words: str


def hunt(mutation: Mutation) -> Hunt:
    """Looks for one mistake in a copy of the source, in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "src"
        shutil.copytree(SOURCE, source / "reprieve", ignore=shutil.ignore_patterns("__pycache__"))
        _mutate(source / "reprieve" / mutation.file, mutation)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(source), str(ROOT)))}
        ended = subprocess.run(
            [sys.executable, *mutation.found_by],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    lines = [line for line in (ended.stdout + ended.stderr).splitlines() if line]
    return Hunt(ended.returncode != 0, next((line for line in reversed(lines) if "Error" in line), ""))


def _mutate(path: Path, mutation: Mutation) -> None:
    text = path.read_text()
    if text.count(mutation.old) != 1:
        raise LookupError(f"{mutation.file} does not have once what {mutation.name!r} is about")
    path.write_text(text.replace(mutation.old, mutation.new))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations", description=__doc__)
    parser.add_argument("name", nargs="?", default="")
    name = parser.parse_args().name
    for mutation in (m for m in MUTATIONS if name in m.name):
        result = hunt(mutation)
        print(f"{mutation.name}: {result.last_words if result.found else 'NOT FOUND'}", flush=True)


if __name__ == "__main__":
    main()
