"""A study's report as Markdown."""

from collections.abc import Sequence

from reprieve.study.report import (
    StudyReport,
    cascade_rows,
    comparison_table,
    head_lines,
    unfinished_lines,
    waiting_rows,
)

FOOTNOTE = (
    "Means over seeds with 95 % intervals. * : the interval of the difference does not contain 0, over five "
    "seeds or more."
)


def markdown(report: StudyReport) -> str:
    header, rows = comparison_table(report)
    waits = ("policy", "priority", "starts", "p50", "p95", "p99")
    tenants = ("policy", "tenant", *waits[2:])
    parts = [
        "# Study",
        "\n".join(f"- {verdict}" for verdict in report.verdicts),
        table(header, rows),
        FOOTNOTE,
        "## Waiting time in seconds, by priority",
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
