"""Plots for a report, as SVG texts without scripts and without anything from a network."""

from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720, 220, 56, 28, 32
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines differ by more than colour


def lines(title: str, series: Mapping[str, Points], unit: str, across: str = "hours") -> str:
    """One line for each name. Both axes begin at 0."""
    most_x = max((x for points in series.values() for x, _ in points), default=1.0) or 1.0
    most_y = max((y for points in series.values() for _, y in points), default=1.0) or 1.0
    drawn = [
        _path(points, most_x, most_y, f"line-{i % len(_DASHES)}", _DASHES[i % len(_DASHES)])
        for i, points in enumerate(series.values())
    ]
    key = [
        _text(f"key line-{i % len(_DASHES)}", _LEFT + 170 * i, _TOP - 16, name, anchor="start")
        for i, name in enumerate(series)
    ]
    return _figure(title, (*_axes(most_x, most_y, unit, across), *drawn, *key))


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


def _path(points: Points, most_x: float, most_y: float, style: str, dash: str) -> str:
    width, height = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - _TOP
    places = " ".join(
        f"{_LEFT + x / most_x * width:.1f},{_TOP + (1 - y / most_y) * height:.1f}" for x, y in points
    )
    return f'<polyline class="{style}" points="{places}" fill="none" stroke-dasharray="{dash}"/>'


def _axes(most_x: float, most_y: float, unit: str, across: str) -> Sequence[str]:
    foot, right = _HEIGHT - _BOTTOM, _WIDTH - 10
    return (
        f'<path class="axis" d="M{_LEFT} {_TOP}V{foot}H{right}"/>',
        _text("tick", _LEFT - 6, _TOP + 8, f"{most_y:.3g}{unit}"),
        _text("tick", _LEFT - 6, foot, "0"),
        _text("tick", right, foot + 16, f"{most_x:.0f} {across}"),
    )


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
