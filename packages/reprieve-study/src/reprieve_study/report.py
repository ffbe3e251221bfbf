"""What does a study say? Paired differences over seeds with intervals, and the report as Markdown.

Every policy meets the same jobs for the same seed, so that a difference within a seed is due to the policy
alone; the interval says what the choice of seeds may have added.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from reprieve.model.formatting import counted, visible
from reprieve_study.measures import Measured, Waiting

# The 97.5 % points of Student's distribution for 1 to 30 degrees of freedom.
_STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL = 1.959964
_ENOUGH_SEEDS = 5

Metric = Callable[[Measured], float]


def _per_hour(count: Callable[[Measured], float]) -> Metric:
    return lambda measured: count(measured) / measured.hours if measured.hours else 0.0


METRICS: Mapping[str, Metric] = {
    "preemptions an hour": _per_hour(lambda measured: measured.preemptions),
    "evictions an hour": _per_hour(lambda measured: measured.evictions),
    "evictions": lambda measured: measured.evictions,
    "evictions in vain": lambda measured: measured.in_vain,
    "gangs interrupted": lambda measured: measured.workloads_ended,
    "budget breaks": lambda measured: measured.budget_breaks,
    "work lost": lambda measured: measured.work_lost,
    "goodput": lambda measured: measured.goodput,
    "fairness": lambda measured: measured.fairness,
    "unfinished": lambda measured: measured.unfinished,
}
_SHARES = frozenset({"goodput", "fairness"})  # from 0 to 1; all others from 0 on


class Estimate(msgspec.Struct, frozen=True):
    """A mean over seeds. ``low`` and ``high``: its 95 % interval, within what the number can be; None with a
    single seed."""

    mean: float
    low: float | None = None
    high: float | None = None
    seeds: int = 1

    @property
    def is_of_few_seeds(self) -> bool:
        """Then an interval says little: two equal differences would make it a point."""
        return self.seeds < _ENOUGH_SEEDS

    @property
    def excludes_zero(self) -> bool:
        if self.low is None or self.high is None or self.is_of_few_seeds:
            return False
        return self.low > 0 or self.high < 0


class ComparedMetric(msgspec.Struct, frozen=True):
    """One metric: every policy's mean, and its differences from the first policy's."""

    metric: str
    means: dict[str, Estimate]
    differences: dict[str, Estimate]


class Disagreement(msgspec.Struct, frozen=True):
    """How often a policy preempted otherwise than the first one; over all seeds.

    Once two policies have differed their clusters differ, too, and so what follows differs more.
    """

    policy: str
    seeds_that_differ: int
    only_first: int  # preempting decisions of the first policy alone
    only_other: int

    @property
    def never(self) -> bool:
        return self.seeds_that_differ == 0


def estimated(values: Sequence[float], least: float = -math.inf, most: float = math.inf) -> Estimate:
    """``least`` and ``most``: what the number can be."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return Estimate(mean)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = student(count - 1) * math.sqrt(variance / count)
    return Estimate(mean, max(least, mean - half), min(most, mean + half), count)


def student(freedom: int) -> float:
    """The 97.5 % point; beyond the table by Cornish and Fisher, exact to four digits there."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def compared(results: Mapping[str, Sequence[Measured]]) -> list[ComparedMetric]:
    """``results``: by policy, one for each seed, in the same order of seeds; the first policy is the base."""
    base = next(iter(results))
    found = []
    for name, metric in METRICS.items():
        most = 1.0 if name in _SHARES else math.inf
        values = {policy: [metric(measured) for measured in arm] for policy, arm in results.items()}
        differences = {
            policy: estimated(
                [other - first for first, other in zip(values[base], mine, strict=True)], -most, most
            )
            for policy, mine in values.items()
            if policy != base
        }
        means = {policy: estimated(mine, 0.0, most) for policy, mine in values.items()}
        found.append(ComparedMetric(name, means, differences))
    return found


def disagreements(results: Mapping[str, Sequence[Measured]]) -> list[Disagreement]:
    (_, base), *others = results.items()
    found = []
    for policy, arm in others:
        only_first = only_other = seeds = 0
        for first, other in zip(base, arm, strict=True):
            left, right = Counter(first.preempted), Counter(other.preempted)
            only_first += (left - right).total()
            only_other += (right - left).total()
            seeds += first.digest != other.digest
        found.append(Disagreement(policy, seeds, only_first, only_other))
    return found


_SHOWN_PROBLEMS = 20
STAR = " *"
_FEWER_EVICTIONS = (
    ": a plan that is called off in time evicts none, and a pod that several plans evict counts once."
)


@dataclass(frozen=True, slots=True)
class StudyHead:
    """Where the numbers come from, so that others can find them again."""

    trace: str
    digest: str  # of jobs, nodes and options
    jobs: int  # of the first seed
    pods: int
    nodes: int
    resource: str  # in whose hours work is counted
    policies: tuple[str, ...]
    seeds: tuple[int, ...]
    version: str
    arrivals: str  # how seeds differ
    is_made_up: bool = False
    played: tuple[str, ...] = ()  # which part of the trace, a sentence each
    mapping: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # lines and jobs that are not played, a sentence each


class StudyReport(msgspec.Struct, frozen=True):
    head: StudyHead
    compared: tuple[ComparedMetric, ...]
    disagreements: tuple[Disagreement, ...]
    results: dict[str, tuple[Measured, ...]]
    verdicts: tuple[str, ...]


def study_report(head: StudyHead, results: Mapping[str, Sequence[Measured]]) -> StudyReport:
    found = disagreements(results)
    table = compared(results)
    return StudyReport(
        head,
        tuple(table),
        tuple(found),
        {policy: tuple(arm) for policy, arm in results.items()},
        tuple(verdict(head.policies[0], one, table) for one in found),
    )


def verdict(first: str, found: Disagreement, table: Sequence[ComparedMetric]) -> str:
    """Say in one sentence what the first policy and another differ in."""
    if found.never:
        return f"{first} and {found.policy} never disagreed here: every decision is the same."
    differences = {one.metric: one.differences[found.policy] for one in table}
    sure = [
        f"{one.metric} {signed(differences[one.metric].mean)}{_share(one, first, found.policy)}"
        for one in table
        if differences[one.metric].excludes_zero
    ]
    differ = (
        f"{found.policy} and {first} differ in {counted(found.seeds_that_differ, 'seed')}: "
        f"{counted(found.only_other, 'preemption')} only {found.policy} makes, {found.only_first} only "
        f"{first} makes"
    )
    if any(one.is_of_few_seeds for one in differences.values()):
        return f"{differ}; too few seeds to tell whether metrics differ by more than chance."
    if not sure:
        return f"{differ}; no metric differs by more than chance explains."
    return f"{differ}; beyond chance, {found.policy} has {', '.join(sure)}."


def _share(one: ComparedMetric, first: str, policy: str) -> str:
    """The difference as a share of what the first policy has."""
    base = one.means[first].mean
    percent = f"{one.differences[policy].mean / base:+.0%}" if base else ""
    return f" ({percent[:-1]} %)".replace("-", "−") if percent else ""


def signed(value: float) -> str:
    """What is only rounding is 0."""
    if abs(value) < 1e-9:
        return "0"
    return (f"{value:+.3g}" if abs(value) < 1000 else f"{value:+.0f}").replace("-", "−")


def shown(estimate: Estimate) -> tuple[str, str]:
    """A mean and its interval."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return _plain(estimate.mean), ""
    return _plain(estimate.mean), f"{_plain(estimate.low)} to {_plain(estimate.high)}"


def _plain(value: float) -> str:
    return f"{value:.3g}".replace("-", "−") if abs(value) < 1000 else f"{value:.0f}"


def shown_difference(estimate: Estimate) -> tuple[str, str]:
    """A difference, with a star if it is beyond chance, and its interval."""
    if estimate.low is None or estimate.high is None or signed(estimate.low) == signed(estimate.high) == "0":
        return signed(estimate.mean), ""
    mean = f"{signed(estimate.mean)}{STAR if estimate.excludes_zero else ''}"
    return mean, f"{signed(estimate.low)} to {signed(estimate.high)}"


Cell = tuple[str, str]  # a figure, and its interval


def comparison_table(report: StudyReport) -> tuple[tuple[str, ...], list[tuple[str, list[Cell]]]]:
    """The header, and for each metric every policy's mean, and its difference from the first."""
    first, *others = report.head.policies
    header = ("metric", first, *(cell for name in others for cell in (name, f"{name} − {first}")))
    return header, [(one.metric, _comparison_row(one, first, others)) for one in report.compared]


def _comparison_row(one: ComparedMetric, first: str, others: Sequence[str]) -> list[Cell]:
    pairs = ((shown(one.means[name]), shown_difference(one.differences[name])) for name in others)
    return [shown(one.means[first]), *(cell for pair in pairs for cell in pair)]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a metric counts, in what, and which direction is better."""

    metric: str
    text: str
    better: str
    unit: str = ""

    @property
    def hint(self) -> str:
        return f"{self.unit}; {self.better} is better" if self.unit else f"{self.better} is better"


def meanings(head: StudyHead) -> list[Meaning]:
    """What every metric means; all count from the warm-up to the last arrival."""
    hours = f"hours of {head.resource}"
    return [
        Meaning("preemptions an hour", "decisions that choose victims, however many each", "fewer"),
        Meaning("evictions an hour", "pods that were evicted by these decisions", "fewer", "pods"),
        Meaning("evictions", "the same, in all the time that is counted", "fewer", "pods"),
        Meaning("evictions in vain", "evicted pods whose room the preemptor did not use", "fewer", "pods"),
        Meaning("gangs interrupted", "gangs that fell below their minimum and began anew", "fewer"),
        Meaning("budget breaks", "evicted beyond what PodDisruptionBudgets allowed", "fewer", "pods"),
        Meaning("work lost", "done since the last checkpoint by what was evicted", "less", hours),
        Meaning("goodput", f"work that lasts, of what the cluster offers in {hours}", "more", "share"),
        Meaning(
            "fairness",
            "Jain's index of the share of its work that each tenant got done by the last arrival: 1 if all "
            "are equal, 1/n if one of n gets all",
            "more",
            "1 at most",
        ),
        Meaning("unfinished", "had not ended when the simulation was cut off", "fewer", "jobs"),
    ]


def heading(head: StudyHead) -> str:
    """What is compared, on which jobs."""
    first, *others = head.policies
    jobs = "made-up jobs" if head.is_made_up else f"the jobs of {Path(head.trace).name}"
    return f"{' and '.join(others)} compared with {first}, on {jobs}" if others else f"{first} on {jobs}"


def scope(report: StudyReport) -> str:
    """Say in a few words what was played, and what is compared with what."""
    head = report.head
    hours = next((arm[0].hours for arm in report.results.values() if arm), 0.0)
    return (
        f"{counted(head.jobs, 'job')} with {counted(head.pods, 'pod')} (seed {head.seeds[0]}) on "
        f"{counted(head.nodes, 'node')}; {hours:.0f} hours count; {counted(len(head.seeds), 'seed')}: "
        f"{head.arrivals}. Differences are from {head.policies[0]}, for the same jobs."
    )


def eviction_lines(report: StudyReport) -> list[str]:
    """A sentence for each policy whose preemptions and evictions differ in number."""
    lines = []
    for policy, arm in report.results.items():
        preemptions, evictions = sum(one.preemptions for one in arm), sum(one.evictions for one in arm)
        if preemptions != evictions:
            line = f"{policy}: {counted(preemptions, 'preemption')} evicted {counted(evictions, 'pod')}"
            lines.append(f"{line}{_FEWER_EVICTIONS if evictions < preemptions else '.'}")
    return lines


def waiting_rows(report: StudyReport, *, by_tenant: bool = False) -> list[tuple[str, ...]]:
    """Priority or tenant, policy, starts of all seeds; p50, p95, p99 as means over seeds."""
    found: list[tuple[str, str, list[Waiting]]] = []
    for policy, arm in report.results.items():
        tables: list[dict[str, Waiting]] = [
            one.tenants if by_tenant else {str(key): value for key, value in one.waiting.items()}
            for one in arm
        ]
        for key in {key for table in tables for key in table}:
            found.append((key, policy, [table[key] for table in tables if key in table]))
    place = {policy: i for i, policy in enumerate(report.results)}
    found.sort(key=lambda row: (*_highest_first(row[0]), place[row[1]]))
    return [
        (key, policy, str(sum(one.starts for one in known)), *_waits(known)) for key, policy, known in found
    ]


def _waits(known: Sequence[Waiting]) -> Iterator[str]:
    for name in ("p50", "p95", "p99"):
        yield _duration(sum(getattr(one, name) for one in known) / len(known))


def _duration(seconds: float) -> str:
    """A duration in the unit in which it has two or three digits."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _highest_first(key: str) -> tuple[int, str]:
    """Priorities, or names in their order."""
    return (-int(key), "") if key.lstrip("-").isdigit() else (0, key)


def head_lines(head: StudyHead) -> list[str]:
    lines = [
        f"trace: {head.trace} ({head.jobs} jobs, {head.pods} pods, digest {head.digest[:12]})",
        f"nodes: {head.nodes}; work is counted in hours of {head.resource}",
        f"policies: {', '.join(head.policies)}; the first is the base of all differences",
        f"seeds: {', '.join(map(str, head.seeds))}; {head.arrivals}",
        f"version: {head.version}",
        "decisions: the same command with --journal POLICY:SEED writes a journal for `reprieve page`",
        *(f"played: {one}" for one in head.played),
        *(f"mapping: {one}" for one in head.mapping),
        *(f"invented: {one}" for one in head.invented),
    ]
    return [*lines, *left_out_lines(head)]


def left_out_lines(head: StudyHead) -> list[str]:
    """The first few, and how many more there are."""
    lines = [f"left out: {one}" for one in head.left_out[:_SHOWN_PROBLEMS]]
    more = len(head.left_out) - len(lines)
    return [*lines, f"left out: {more} more"] if more else lines


def unfinished_lines(report: StudyReport) -> list[str]:
    """A line for each policy: what had not ended when the simulation was cut off."""
    lines = []
    for policy, arm in report.results.items():
        count = sum(one.unfinished for one in arm)
        names = [name for one in arm for name in one.unfinished_names]
        if count:
            more = f" and {count - 5} more" if count > 5 else ""
            jobs = "1 job" if count == 1 else f"{count} jobs"
            lines.append(f"{policy}: {jobs} did not end: {', '.join(names[:5])}{more}")
    return lines


FOOTNOTE = (
    "Means over seeds, with 95 % intervals. A difference is that of the same seeds; a star marks one whose "
    "interval does not contain 0, from five seeds on. No interval goes below 0, or for a share above 1. "
    "Each stands alone: of twenty metrics that are equal, one gets a star by chance."
)
WAITING_NOTE = (
    "From an arrival or an eviction until the pod, or the minimum of the gang, runs. Percentiles are means "
    "over seeds, without intervals: a difference may be chance. Starts are those of pods in all seeds."
)


def markdown(report: StudyReport) -> str:
    header, rows = comparison_table(report)
    waits = ("priority", "policy", "starts", "p50", "p95", "p99")
    tenants = ("tenant", *waits[1:])
    parts = [
        f"# {heading(report.head)}",
        scope(report),
        "\n".join(f"- {visible(verdict)}" for verdict in report.verdicts),
        table(
            header,
            [
                (metric, *(f"{mean} ({interval})" if interval else mean for mean, interval in cells))
                for metric, cells in rows
            ],
        ),
        FOOTNOTE,
        " ".join(eviction_lines(report)),
        table(("metric", "meaning", ""), [(one.metric, one.text, one.hint) for one in meanings(report.head)]),
        "## Waiting time, by priority",
        WAITING_NOTE,
        table(waits, waiting_rows(report)),
        "## Waiting time, by tenant",
        table(tenants, waiting_rows(report, by_tenant=True)),
        *_unfinished(report),
        "## How it was made",
        "```\n" + "\n".join(head_lines(report.head)) + "\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _unfinished(report: StudyReport) -> list[str]:
    lines = unfinished_lines(report)
    return ["## Unfinished", "\n".join(f"- {visible(line)}" for line in lines)] if lines else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return visible(text).replace("|", "\\|")
