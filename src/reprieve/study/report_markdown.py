"""A study's report as Markdown."""

from collections.abc import Sequence

from reprieve.study.report import (
    StudyReport,
    cascade_rows,
    comparison_table,
    head_lines,
    meanings,
    scope,
    unfinished_lines,
    waiting_rows,
)

FOOTNOTE = (
    "Means over seeds, with 95 % intervals. A difference is that of the same seeds; a star marks one whose "
    "interval does not contain 0, from five seeds on. Each interval stands alone: of twenty metrics that are "
    "equal, one gets a star by chance."
)
WAITING_NOTE = (
    "From an arrival or an eviction until the pod, or the minimum of the gang, runs. Percentiles are means "
    "over seeds, without intervals: a difference may be chance. Starts are those of pods in all seeds."
)
CHAINS_NOTE = (
    "Preemptions for the replacement of a pod that was itself preempted: of depth 2 if a first preemption "
    "evicted that pod, of depth 3 if one of depth 2 did. In all seeds."
)


def markdown(report: StudyReport) -> str:
    header, rows = comparison_table(report)
    waits = ("priority", "policy", "starts", "p50", "p95", "p99")
    tenants = ("tenant", *waits[1:])
    parts = [
        "# Study",
        scope(report),
        "\n".join(f"- {verdict}" for verdict in report.verdicts),
        table(
            header,
            [
                (metric, *(f"{mean} ({interval})" if interval else mean for mean, interval in cells))
                for metric, cells in rows
            ],
        ),
        FOOTNOTE,
        table(("metric", "meaning", ""), [(one.metric, one.text, one.hint) for one in meanings(report.head)]),
        "## Waiting time, by priority",
        WAITING_NOTE,
        table(waits, waiting_rows(report)),
        "## Waiting time, by tenant",
        table(tenants, waiting_rows(report, by_tenant=True)),
        *_cascades(report),
        *_unfinished(report),
        "## How it was made",
        "```\n" + "\n".join(head_lines(report.head)) + "\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cascades(report: StudyReport) -> list[str]:
    rows = cascade_rows(report)
    if not rows:
        return []
    return ["## Chains of evictions", CHAINS_NOTE, table(("policy", "depth", "preemptions"), rows)]


def _unfinished(report: StudyReport) -> list[str]:
    lines = unfinished_lines(report)
    return ["## Unfinished", "\n".join(f"- {line}" for line in lines)] if lines else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
