"""How do results read: as a table for people, and as JSON for programs, one object a line?"""

import json
from collections.abc import Iterable
from dataclasses import asdict

from benchmarks.cases import Case
from benchmarks.comparison import Comparison, Result
from benchmarks.statistics import Ratio

_DIGITS = 4  # that are told of a figure; the rest is noise


def listed(cases: Iterable[Case]) -> Iterable[str]:
    cases = list(cases)
    width = _width(cases)
    return (f"{case.name:{width}}  {case.about}" for case in cases)


# --- JSON ----------------------------------------------------------------------------------------


def json_line(found: Result | Comparison) -> str:
    match found:
        case Result():
            return json.dumps(_rounded(asdict(found)))
        case Comparison(result, other=other):
            both = {
                **asdict(result),
                "against": found.against,
                "against_median_ms": other.median_ms,
                "against_cpu_ms": other.cpu_ms,
                "against_rss_mb": other.rss_mb,
                "runs": found.runs,
                "compared": found.compared.value,
                **_bounds("ratio", found.time),
                **_bounds("rss_ratio", found.rss),
            }
            return json.dumps(_rounded(both))


def _bounds(name: str, found: Ratio) -> dict[str, object]:
    return {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}


def _rounded(values: dict[str, object]) -> dict[str, object]:
    return {
        name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
        for name, value in values.items()
    }


# --- text ----------------------------------------------------------------------------------------


def heading(cases: Iterable[Case], against: str | None) -> str:
    columns = f"{'case':{_width(cases)}}{'median':>12}{'99 %':>12}{'cpu':>12}{'a second':>11}{'memory':>10}"
    if against is None:
        return columns
    return f"{columns}  {f'cpu of {against}':>14}  {'ratio':>5}  {'95 % interval':14}"


def row(cases: Iterable[Case], found: Result | Comparison) -> str:
    match found:
        case Result():
            times = "".join(f"{_duration(ms):>12}" for ms in (found.median_ms, found.p99_ms, found.cpu_ms))
            rest = f"{_short(found.per_second):>11}{found.rss_mb:7.0f} MB"
            asking = f"  {found.asking:.0%} ask a solver" if found.asking else ""
            return f"{found.case:{_width(cases)}}{times}{rest}{asking}"
        case Comparison(result, other=other):
            memory = f"memory {found.rss.estimate:.2f} ({_between(found.rss)})"
            return (
                f"{row(cases, result)}  {_duration(other.cpu_ms):>14}  {found.time.estimate:5.2f}  "
                f"{_between(found.time):14}  {_verdict(found.time)}; {memory}"
            )


def _width(cases: Iterable[Case]) -> int:
    return max(len(case.name) for case in cases)


def _verdict(found: Ratio) -> str:
    if found.high < 1:
        return "faster"
    return "slower" if found.low > 1 else "no difference"


def _between(found: Ratio) -> str:
    return f"{found.low:.2f} to {found.high:.2f}"


def _duration(ms: float) -> str:
    if ms >= 10_000:
        return f"{_short(ms / 1e3)} s"
    return f"{_short(ms)} ms" if ms >= 0.1 else f"{_short(ms * 1e3)} us"


def _short(value: float) -> str:
    """Three digits, however large or small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
