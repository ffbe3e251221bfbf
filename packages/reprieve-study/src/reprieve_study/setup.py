"""What does a study consist of? Jobs that can run at all, nodes, and the head of its report.

It reads no files: a trace and nodes are given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from reprieve.model.objects import Node
from reprieve_study.cell import StudyInput, encoded, fits_at_all
from reprieve_study.generator import GeneratorOptions, compressed, in_window
from reprieve_study.job import Job
from reprieve_study.measures import main_resource
from reprieve_study.report import StudyHead
from reprieve_study.trace import Trace, in_order

_MADE_UP = "each seed makes up another trace"
_DRAWN = "each seed draws blocks of the trace, with replacement"
_AS_IT_IS = "the trace is played as it is"


@dataclass(frozen=True, slots=True)
class StudyOptions:
    policies: tuple[str, ...]
    seeds: int
    version: str
    warmup: float = 0.1
    window: tuple[float, float] | None = None  # seconds of the trace
    compress: float = 1.0
    mapping: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Study:
    """``content``: what cells are played from."""

    content: bytes
    head: StudyHead


def study_of_trace(trace: Trace, nodes: Sequence[Node], options: StudyOptions) -> Study:
    jobs = list(trace.jobs)
    if options.window is not None:
        jobs = in_window(jobs, *options.window)
    jobs = compressed(jobs, options.compress)
    fitting = in_order(job for job in jobs if fits_at_all(job, nodes))
    known = {job.name for job in fitting}
    left_out = [
        *(str(problem) for problem in trace.problems),
        *(_too_large(job, trace.lines.get(job.name)) for job in jobs if job.name not in known),
    ]
    several = options.seeds > 1
    content = StudyInput(
        tuple(nodes),
        fitting,
        drawn_priorities=trace.priorities_from_seed,
        is_resampled=several,
        warmup=options.warmup,
    )
    study = _study(trace.name, content, options, _DRAWN if several else _AS_IT_IS)
    head = replace(study.head, invented=trace.invented, left_out=tuple(left_out))
    return replace(study, head=head)


def _too_large(job: Job, line: int | None) -> str:
    """A sentence: which job, and what it asks of the empty cluster."""
    where = f"line {line}: " if line is not None else ""
    asked = ", ".join(f"{quantity} {name}" for name, quantity in job.requests) or "nothing"
    pods = f"{job.gang} pods together, each with {asked}" if job.gang > 1 else f"a pod with {asked}"
    return f"{where}{job.name}: does not fit into the empty cluster: {pods}"


def generated_study(
    name: str, generator: GeneratorOptions, nodes: Sequence[Node], options: StudyOptions
) -> Study:
    content = StudyInput(tuple(nodes), generator=generator, warmup=options.warmup)
    study = _study(name, content, options, _MADE_UP)
    unfit = [job for job in content.jobs_for(0) if not fits_at_all(job, nodes)]
    left_out = tuple(f"seed 0: {_too_large(job, None)}" for job in unfit)
    return replace(study, head=replace(study.head, left_out=left_out))


def _study(name: str, content: StudyInput, options: StudyOptions, arrivals: str) -> Study:
    data = encoded(content)
    jobs = [job for job in content.jobs_for(0) if fits_at_all(job, content.nodes)]
    head = StudyHead(
        trace=name,
        digest=blake2b(data, digest_size=16).hexdigest(),
        jobs=len(jobs),
        pods=sum(job.pods for job in jobs),
        nodes=len(content.nodes),
        resource=main_resource(content.nodes),
        policies=options.policies,
        seeds=tuple(range(options.seeds)),
        version=options.version,
        arrivals=arrivals,
        mapping=options.mapping,
        played=tuple(_played(options, max((job.arrival for job in jobs), default=0.0))),
    )
    return Study(data, head)


def _played(options: StudyOptions, span: float) -> Iterator[str]:
    if options.window is not None:
        begin, end = options.window
        yield f"only jobs that arrive from {begin:.15g} s to {end:.15g} s of the trace"
    if options.compress != 1:
        yield f"jobs arrive {options.compress:.15g} times as fast"
    if not span:
        yield "all jobs arrive at once, so that no time counts: figures an hour, work and goodput are 0"
    yield f"the first {options.warmup:.0%} of the time until the last arrival does not count"
