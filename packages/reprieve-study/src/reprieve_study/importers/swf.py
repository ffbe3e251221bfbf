"""Jobs in the Standard Workload Format: lines of 18 numbers, with comments after a semicolon.

Read are the submit time (2), the run time (4), the processors (5, or 8 as asked), the memory a processor (7,
or 10 as asked, in KB) and the user (12). A mapping may use the columns 11 to 16.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from reprieve_study.importers.rows import RowError, drawn_sentence, label
from reprieve_study.job import Job
from reprieve_study.text_lines import TraceError, numbered_lines
from reprieve_study.trace import FARTHEST, MOST_PODS, PriorityMapping, Trace, TraceProblem, in_order

DRAWN = (0, 0, 100, 1000)
COLUMNS = {"status": 10, "user": 11, "group": 12, "executable": 13, "queue": 14, "partition": 15}
_FIELDS, _CORES_OF_A_POD = 18, 16
_MOST = FARTHEST  # in whatever unit


def is_one(text: str) -> bool:
    """A comment, or a line of 18 numbers."""
    first = next((line for _, line in numbered_lines(text)), "")
    return first.lstrip().startswith(";") or len(first.split()) == _FIELDS


def read(name: str, text: str, mapping: PriorityMapping | None = None) -> Trace:
    if mapping is not None and mapping.column not in COLUMNS:
        raise TraceError(f"{name}: {mapping.expected(COLUMNS)}")
    jobs, problems, lines = [], [], {}
    for number, line in numbered_lines(text):
        content = line.partition(";")[0].split()
        if not content:
            continue
        try:
            job = _with_priority(_job(content, number), content, mapping)
        except RowError as wrong:
            problems.append(TraceProblem(number, str(wrong)))
        else:
            jobs.append(job)
            lines[job.name] = number
    gangs = f"a job of more than {_CORES_OF_A_POD} processors is a gang of pods of up to {_CORES_OF_A_POD}"
    invented = (gangs,) if mapping is not None else (drawn_sentence(DRAWN), gangs)
    drawn = () if mapping is not None else DRAWN
    return Trace(name, in_order(jobs), tuple(problems), invented, drawn, lines)


def _with_priority(job: Job, content: list[str], mapping: PriorityMapping | None) -> Job:
    if mapping is None:
        return job
    value = content[COLUMNS[mapping.column]]
    priority = mapping.priority(value)
    if priority is None:
        raise RowError(mapping.wrong(value))
    return replace(job, priority=priority)


def _job(content: list[str], line: int) -> Job:
    if len(content) != _FIELDS:
        raise RowError(f"expected {_FIELDS} numbers, got {len(content)}")
    values = [_number(word) for word in content]
    submitted, runs = values[1], values[3]
    cores = next(_known(values[4], values[7]), 0.0)
    if cores > MOST_PODS * _CORES_OF_A_POD:
        raise RowError(f"expected at most {MOST_PODS * _CORES_OF_A_POD} processors, got {cores:.0f}")
    if submitted < 0 or runs <= 0 or cores < 1:
        raise RowError("expected a submit time, a run time and processors, got a job that did not run")
    pods = ceil(cores / _CORES_OF_A_POD)
    each = ceil(cores / pods)
    kilobytes = next(_known(values[6], values[9]), 0.0)
    memory = (("memory", f"{ceil(kilobytes * each)}Ki"),) if kilobytes else ()
    return Job(
        name=f"job-{line}",
        arrival=submitted,
        duration=runs,
        pods=pods,
        gang=pods if pods > 1 else 0,
        requests=(("cpu", str(each)), *memory),
        tenant=label(f"user-{values[11]:.0f}" if values[11] >= 0 else ""),
    )


def _number(word: str) -> float:
    try:
        found = float(word)
    except ValueError:
        found = math.nan
    if abs(found) > _MOST:
        raise RowError(f"expected {_FIELDS} numbers of at most {_MOST:.0f}, got {word[:60]!r}")
    if math.isnan(found):
        raise RowError(f"expected {_FIELDS} numbers, got {word[:60]!r}")
    return found


def _known(*values: float) -> Iterator[float]:
    """-1 stands for what is not known."""
    return (value for value in values if value > 0)
