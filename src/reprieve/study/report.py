"""What does a study say? One document for programs; the texts for people are made from it.

It knows no files. How numbers are compared is in ``comparison``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.study.comparison import ComparedMetric, Disagreement, Estimate, compared, disagreements
from reprieve.study.measures import Measured, Waiting

_SHOWN_PROBLEMS = 20


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
    """In one sentence what the first policy and another differ in."""
    if found.never:
        return f"{first} and {found.policy} never disagreed here: every decision is the same."
    differences = {one.metric: one.differences[found.policy] for one in table}
    sure = [f"{metric} {signed(one.mean)}" for metric, one in differences.items() if one.excludes_zero]
    differ = (
        f"{found.policy} preempts otherwise than {first} in {found.only_other} decisions "
        f"({found.only_first} of {first} it does not make)"
    )
    if not sure:
        return f"{differ}; no metric differs by more than chance explains."
    return f"{differ}; beyond chance: {', '.join(sure)}."


def signed(value: float) -> str:
    return f"{value:+.4g}".replace("-", "−")


def shown(estimate: Estimate) -> str:
    """A mean with its interval."""
    mean = _plain(estimate.mean)
    if estimate.low is None or estimate.high is None:
        return mean
    return f"{mean} ({_plain(estimate.low)} to {_plain(estimate.high)})"


def _plain(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def shown_difference(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return signed(estimate.mean)
    interval = f"({signed(estimate.low)} to {signed(estimate.high)})"
    return f"{signed(estimate.mean)} {interval}{' *' if estimate.excludes_zero else ''}"


def comparison_table(report: StudyReport) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header, and a row for each metric: every policy's mean, and its difference from the first."""
    first, *others = report.head.policies
    header = ("metric", first, *(cell for name in others for cell in (name, f"{name} − {first}")))
    return header, [_comparison_row(one, first, others) for one in report.compared]


def _comparison_row(one: ComparedMetric, first: str, others: Sequence[str]) -> tuple[str, ...]:
    pairs = ((shown(one.means[name]), shown_difference(one.differences[name])) for name in others)
    return (one.metric, shown(one.means[first]), *(cell for pair in pairs for cell in pair))


def waiting_rows(report: StudyReport, *, by_tenant: bool = False) -> list[tuple[str, ...]]:
    """Policy, priority or tenant, starts, p50, p95, p99; means over seeds."""
    rows: list[tuple[str, ...]] = []
    for policy, arm in report.results.items():
        tables: list[dict[str, Waiting]] = [
            one.tenants if by_tenant else {str(key): value for key, value in one.waiting.items()}
            for one in arm
        ]
        keys = sorted({key for table in tables for key in table}, key=_numbers_first)
        for key in keys:
            known = [table[key] for table in tables if key in table]
            cells = [sum(getattr(one, name) for one in known) / len(known) for name in ("p50", "p95", "p99")]
            starts = sum(one.starts for one in known)
            rows.append((policy, key, str(starts), *(f"{cell:.0f}" for cell in cells)))
    return rows


def _numbers_first(key: str) -> tuple[int, str]:
    return (int(key), "") if key.lstrip("-").isdigit() else (0, key)


def cascade_rows(report: StudyReport) -> list[tuple[str, ...]]:
    """Policy, depth, how many."""
    rows: list[tuple[str, ...]] = []
    for policy, arm in report.results.items():
        depths = sorted({depth for one in arm for depth in one.cascades})
        rows += [(policy, str(d), str(sum(one.cascades.get(d, 0) for one in arm))) for d in depths]
    return rows


def head_lines(head: StudyHead) -> list[str]:
    lines = [
        f"trace: {head.trace} ({head.jobs} jobs, {head.pods} pods, digest {head.digest[:12]})",
        f"nodes: {head.nodes}; work is counted in hours of {head.resource}",
        f"policies: {', '.join(head.policies)}; the first is the base of all differences",
        f"seeds: {', '.join(map(str, head.seeds))}; {head.arrivals}",
        f"version: {head.version}",
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
    """For each policy, what had not ended when the simulation was cut off."""
    lines = []
    for policy, arm in report.results.items():
        count = sum(one.unfinished for one in arm)
        names = [name for one in arm for name in one.unfinished_names]
        if count:
            more = f" and {count - 5} more" if count > 5 else ""
            lines.append(f"{policy}: {count} jobs did not end: {', '.join(names[:5])}{more}")
    return lines
