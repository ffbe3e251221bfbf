"""A study's report as Markdown."""

from collections.abc import Sequence

from reprieve.study.report import (
    StudyReport,
    cascade_rows,
    comparison_table,
    head_lines,
    meanings,
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
    "over seeds; starts are those of all seeds."
)


def markdown(report: StudyReport) -> str:
    header, rows = comparison_table(report)
    waits = ("priority", "policy", "starts", "p50", "p95", "p99")
    tenants = ("tenant", *waits[1:])
    parts = [
        "# Study",
        "\n".join(f"- {verdict}" for verdict in report.verdicts),
        table(
            header,
            [
                (metric, *(f"{mean} ({interval})" if interval else mean for mean, interval in cells))
                for metric, cells in rows
            ],
        ),
        FOOTNOTE,
        table(("metric", "meaning"), meanings(report.head)),
        "## Waiting time in seconds, by priority",
        WAITING_NOTE,
        table(waits, waiting_rows(report)),
        "## Waiting time in seconds, by tenant",
        table(tenants, waiting_rows(report, by_tenant=True)),
        *_cascades(report),
        *_unfinished(report),
        "## How it was made",
        "```\n" + "\n".join(head_lines(report.head)) + "\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cascades(report: StudyReport) -> list[str]:
    rows = cascade_rows(report)
    return ["## Chains of evictions", table(("policy", "depth", "plans"), rows)] if rows else []


def _unfinished(report: StudyReport) -> list[str]:
    lines = unfinished_lines(report)
    return ["## Unfinished", "\n".join(f"- {line}" for line in lines)] if lines else []


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
