"""A study's report as one HTML file: no script, nothing from a network, light and dark."""

from collections.abc import Mapping, Sequence
from html import escape

from reprieve_study.measures import Measured
from reprieve_study.report import (
    FOOTNOTE,
    STAR,
    WAITING_NOTE,
    Cell,
    StudyReport,
    comparison_table,
    eviction_lines,
    head_lines,
    heading,
    meanings,
    scope,
    unfinished_lines,
    waiting_rows,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --rule: #d0d7de; --paper: #ffffff;
  --line-0: #0550ae; --line-1: #bc4c00; --line-2: #1a7f37; --line-3: #8250df; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --rule: #3d444d;
  --paper: #0d1117; --line-0: #79c0ff; --line-1: #ffa657; --line-2: #7ee787; --line-3: #d2a8ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 68rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.verdict { font-size: 1.05rem; border-left: 4px solid var(--line-0); padding-left: .8rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
th:first-child, td:first-child, .two-names :is(th, td):nth-child(2), .words :is(th, td) { text-align: left; }
.figures th { white-space: normal; max-width: 9rem; } td small { display: block; color: var(--soft);
  font-weight: 400; } .words td { white-space: normal; } details { margin: 1rem 0; }
td.sure { font-weight: 600; } .two-names tr.new :is(td) { border-top: 2px solid var(--rule); }
figure { margin: 1.2rem 0; } figcaption { color: var(--soft); } svg { max-width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .name, svg .value { fill: var(--ink); }
.axis { stroke: var(--soft); fill: none; } .grid { stroke: var(--rule); fill: none; }
.interval { stroke: var(--ink); fill: none; } .warm { fill: var(--rule); opacity: .35; }
polyline { stroke-width: 1.6; }
polyline.line-0 { stroke: var(--line-0); } polyline.line-1 { stroke: var(--line-1); }
polyline.line-2 { stroke: var(--line-2); } polyline.line-3 { stroke: var(--line-3); }
svg text.line-0 { fill: var(--line-0); } svg text.line-1 { fill: var(--line-1); }
svg text.line-2 { fill: var(--line-2); } svg text.line-3 { fill: var(--line-3); }
.bar.line-0 { fill: var(--line-0); } .bar.line-1 { fill: var(--line-1); }
.bar.line-2 { fill: var(--line-2); } .bar.line-3 { fill: var(--line-3); } .bar { opacity: .75; }
pre { white-space: pre-wrap; color: var(--soft); } .note { color: var(--soft); }
"""
_BARS = ("evictions an hour", "gangs interrupted", "work lost", "goodput")


def html(report: StudyReport) -> str:
    title = heading(report.head)
    header, rows = comparison_table(report)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="note">{escape(scope(report))}</p>',
        *(f'<p class="verdict">{escape(verdict)}</p>' for verdict in report.verdicts),
        _comparison(header, rows, {one.metric: one.hint for one in meanings(report.head)}),
        f'<p class="note">{escape(FOOTNOTE)}</p>',
        *(f"<p>{escape(line)}</p>" for line in eviction_lines(report)),
        "<details><summary>What the metrics mean</summary>",
        _table(["metric", "meaning"], [(one.metric, one.text) for one in meanings(report.head)], "words"),
        "</details>",
        *_plots(report),
        "<h2>Waiting time, by priority</h2>",
        f'<p class="note">{escape(WAITING_NOTE)}</p>',
        _table(["priority", "policy", "starts", "p50", "p95", "p99"], waiting_rows(report), "two-names"),
        "<h2>Waiting time, by tenant</h2>",
        _table(
            ["tenant", "policy", "starts", "p50", "p95", "p99"],
            waiting_rows(report, by_tenant=True),
            "two-names",
        ),
        *(f"<p>{escape(line)}</p>" for line in unfinished_lines(report)),
        "<h2>How it was made</h2>",
        f"<pre>{escape(chr(10).join(head_lines(report.head)))}</pre>",
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _plots(report: StudyReport) -> list[str]:
    found = []
    for one in report.compared:
        if one.metric in _BARS:
            means = {policy: (mean.mean, mean.low, mean.high) for policy, mean in one.means.items()}
            unit = f", hours of {report.head.resource}" if one.metric == "work lost" else ""
            found.append(bars(f"{one.metric}{unit}", means))
    resource, warmup = report.head.resource, _warmup(report)
    for column, caption in (
        (1, f"Share of {resource} in use, mean over seeds"),
        (2, f"Share of free {resource} on nodes where a typical pod does not fit, mean over seeds"),
    ):
        shares = {policy: _averaged(arm, column) for policy, arm in report.results.items()}
        found.append(share_lines(caption, shares, warmup))
    return found


def _warmup(report: StudyReport) -> float:
    """The hours that do not count: samples begin with the trace and end with its last arrival."""
    first = next((one for arm in report.results.values() for one in arm if one.samples), None)
    return first.samples[-1][0] - first.hours if first is not None else 0.0


def _averaged(arm: Sequence[Measured], column: int) -> list[tuple[float, float]]:
    """Samples of all seeds, one mean for each of their places."""
    if not arm:
        return []
    count = min(len(one.samples) for one in arm)
    return [
        (
            sum(one.samples[i][0] for one in arm) / len(arm),
            sum(one.samples[i][column] for one in arm) / len(arm),
        )
        for i in range(count)
    ]


def _comparison(
    header: Sequence[str], rows: Sequence[tuple[str, Sequence[Cell]]], hints: Mapping[str, str]
) -> str:
    """Intervals stand below their figures: beside them, three policies would not fit on a page."""
    lines_ = [
        f"<tr><td>{escape(metric)}<small>{escape(hints[metric])}</small></td>"
        + "".join(
            f"<td{_mark(mean)}>{escape(mean)}<small>{escape(interval)}</small></td>"
            for mean, interval in cells
        )
        + "</tr>"
        for metric, cells in rows
    ]
    return _rows(header, lines_, "figures")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], style: str = "") -> str:
    """A row whose first cell is not that of the row above begins a new block."""
    lines_ = []
    for above, row in zip([None, *rows], rows, strict=False):
        begins = ' class="new"' if above is not None and above[0] != row[0] else ""
        lines_.append(f"<tr{begins}>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>")
    return _rows(header, lines_, style)


def _rows(header: Sequence[str], rows: Sequence[str], style: str) -> str:
    head = "".join(f"<th scope='col'>{escape(cell)}</th>" for cell in header)
    return (
        f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _mark(cell: str) -> str:
    return ' class="sure"' if cell.endswith(STAR) else ""


Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 720, 220, 56, 20, 28, 32
_STEPS = (0.25, 0.5, 1, 2, 4, 12, 24, 48, 168, 720, 8760)  # hours between two marks of an axis
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines differ by more than colour


def share_lines(title: str, series: Mapping[str, Points], warmup: float) -> str:
    """Shares over hours, one line for each name. ``warmup``: the hours at the beginning that do not count."""
    hours = max((x for points in series.values() for x, _ in points), default=1.0) or 1.0
    drawn = [_path(points, hours, i) for i, points in enumerate(series.values())]
    key = [part for i, name in enumerate(series) for part in _key(i, name)]
    return _figure(title, (*_warm_band(warmup, hours), *_axes(hours), *drawn, *key))


def bars(title: str, values: Mapping[str, tuple[float, float | None, float | None]]) -> str:
    """One bar for each name, with its interval, if there is one."""
    most = max((high if high is not None else mean for mean, _, high in values.values()), default=1.0) or 1.0
    step, height = 26, 26 * len(values) + 12
    scale = (_WIDTH - 260) / most
    parts = []
    for i, (name, (mean, low, high)) in enumerate(values.items()):
        y, length = 10 + step * i, max(mean, 0) * scale
        parts.append(_text("name", 170, y + 13, name))
        parts.append(f'<rect class="bar line-{i % 4}" x="180" y="{y}" width="{length:.1f}" height="16"/>')
        if low is not None and high is not None:
            parts.append(_interval(180 + max(low, 0) * scale, 180 + high * scale, y + 8))
        end = 190 + max(mean, high or 0) * scale
        parts.append(
            _text("value", end, y + 13, f"{mean:.0f}" if mean >= 1000 else f"{mean:.3g}", anchor="start")
        )
    return _figure(title, parts, height)


def _at(hour: float, share: float, hours: float) -> tuple[float, float]:
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM - _TOP
    return _LEFT + hour / hours * width, _TOP + (1 - share) * height


def _path(points: Points, hours: float, number: int) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_at(hour, share, hours) for hour, share in points))
    return _line(places, number)


def _line(places: str, number: int) -> str:
    style, dash = f"line-{number % len(_DASHES)}", _DASHES[number % len(_DASHES)]
    return f'<polyline class="{style}" points="{places}" fill="none" stroke-dasharray="{dash}"/>'


def _key(number: int, name: str) -> Sequence[str]:
    left, style = _LEFT + 170 * number, f"key line-{number % len(_DASHES)}"
    sample = _line(f"{left},{_TOP - 20} {left + 24},{_TOP - 20}", number)
    return sample, _text(style, left + 30, _TOP - 16, name, anchor="start")


def _warm_band(warmup: float, hours: float) -> Sequence[str]:
    if warmup <= 0:
        return ()
    (left, top), (right, foot) = _at(0, 1, hours), _at(warmup, 0, hours)
    return (
        f'<rect class="warm" x="{left}" y="{top}" width="{right - left:.1f}" height="{foot - top}"/>',
        _text("tick", left + 4, top + 12, "warm-up", anchor="start"),
    )


def _axes(hours: float) -> Sequence[str]:
    right, foot = _at(hours, 0, hours)
    found = []
    for share in (0.0, 0.5, 1.0):
        y = _at(0, share, hours)[1]
        found.append(f'<path class="{"grid" if share else "axis"}" d="M{_LEFT} {y}H{right}"/>')
        found.append(_text("tick", _LEFT - 6, y + 4, f"{share:.0%}".replace("%", " %")))
    step = next((step for step in _STEPS if hours / step <= 8), _STEPS[-1])
    for number in range(int(hours / step) + 1):
        x = _at(number * step, 0, hours)[0]
        found.append(f'<path class="axis" d="M{x:.1f} {foot}v4"/>')
        found.append(_text("tick", x, foot + 16, f"{number * step:g} h", anchor="middle"))
    return found


def _interval(left: float, right: float, y: float) -> str:
    ends = "".join(f"M{x:.1f} {y - 4}v8" for x in (left, right))
    return f'<path class="interval" d="M{left:.1f} {y}H{right:.1f}{ends}"/>'


def _text(style: str, x: float, y: float, content: str, anchor: str = "end") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(content)}</text>'


def _figure(title: str, parts: Sequence[str], height: int = _HEIGHT) -> str:
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">{"".join(parts)}</svg></figure>'
    )
