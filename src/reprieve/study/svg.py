"""Plots for a report, as SVG texts without scripts and without anything from a network."""

from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 720, 220, 56, 20, 28, 32
_STEPS = (0.25, 0.5, 1, 2, 4, 12, 24, 48, 168, 720, 8760)  # hours between two marks of an axis
_DASHES = ("", "6 3", "2 3", "8 3 2 3")  # lines differ by more than colour


def share_lines(title: str, series: Mapping[str, Points], warmup: float) -> str:
    """Shares over hours, one line for each name. ``warmup``: the hours at the beginning that do not count."""
    hours = max((x for points in series.values() for x, _ in points), default=1.0) or 1.0
    drawn = [_path(points, hours, i) for i, points in enumerate(series.values())]
    key = [part for i, name in enumerate(series) for part in _key(i, name)]
    return _figure(title, (*_warmup(warmup, hours), *_axes(hours), *drawn, *key))


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


def _warmup(warmup: float, hours: float) -> Sequence[str]:
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
