"""Measures how long Reprieve takes, case by case, each in a process of its own.

`--against REV` measures another revision as well, alternately, and prints the ratio of this one's time to the
other's with a 95 % confidence interval. Progress goes to stderr.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import goals, growth, output
from benchmarks.cases import CASES, Case, chosen
from benchmarks.comparison import RUNS, Comparison, Result, alternated, comparison, figure, result
from benchmarks.names import UsageError
from benchmarks.process import ROOT, RunFailedError, measured
from benchmarks.revisions import Revision, checked_out
from benchmarks.timing import Run
from benchmarks.worlds import crowded

Find = Callable[[Case], Result | Comparison]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 2 if what was asked for does not exist, 1 if a case could not be measured."""
    asked = _parser().parse_args(arguments)
    try:
        cases = chosen(asked.case)
        if asked.list:
            print(*output.listed(cases), sep="\n")
            return 0
        if asked.table:
            return _tables(cases)
        cases = _possible(cases, named=bool(asked.case))
        if asked.against is None:
            return _shown(cases, partial(_measured, runs=asked.runs or 1), asked.json)
        runs = asked.runs or RUNS
        if runs < RUNS:
            raise UsageError(
                f"--runs {runs} is too few for a confidence interval: at least {RUNS} are needed"
            )
        with checked_out(ROOT, asked.against) as other:
            return _shown(cases, partial(_compared, other=other, runs=runs), asked.json, other.name)
    except UsageError as error:
        _tell(str(error))
        return 2
    except KeyboardInterrupt:
        return 130  # as a shell tells it


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--case",
        metavar="NAME",
        action="append",
        default=[],
        help="measure this case, or those that match a pattern as 'G5000*'; may be repeated (default: all)",
    )
    parser.add_argument("--list", action="store_true", help="list the cases instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line instead of a table")
    parser.add_argument(
        "--table",
        action="store_true",
        help="print which goals are reached and how costs grow, in Markdown; with --case, the goals alone",
    )
    parser.add_argument("--against", metavar="REV", help="compare with this git revision")
    parser.add_argument(
        "--runs",
        metavar="N",
        type=_positive,
        help=f"processes for each case and revision (default: 1; {RUNS} with --against)",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _possible(cases: Sequence[Case], *, named: bool) -> tuple[Case, ...]:
    """Those whose cluster can be made here. A case that was asked for by name is not left out in silence."""
    absent = [case.name for case in cases if case.made_world and crowded.maker() is None]
    if absent and named:
        raise UsageError(f"{', '.join(absent)} cannot be measured: {crowded.ABSENT}")
    if absent:
        _tell(f"{', '.join(absent)} are left out: {crowded.ABSENT}")
    return tuple(case for case in cases if case.name not in absent)


def _shown(cases: Sequence[Case], find: Find, as_json: bool, against: str | None = None) -> int:
    """Prints each result when it is there. A case that fails does not keep the others from being measured."""
    failed = 0
    if not as_json:
        print(output.heading(cases, against), flush=True)
    for number, case in enumerate(cases, 1):
        _tell(f"{case.name} (case {number} of {len(cases)})")
        try:
            found = find(case)
        except RunFailedError as error:
            failed = 1
            _tell(str(error))
        else:
            print(output.json_line(found) if as_json else output.row(cases, found), flush=True)
    return failed


def _tables(cases: Sequence[Case]) -> int:
    """Each row when it is there. Of growth there is a table if all cases are asked for."""
    failed, asked = 0, {case.name for case in cases}
    wanted = [goal for goal in goals.GOALS if goal.case in asked]
    possible = {case.name for case in _possible([CASES[goal.case] for goal in wanted], named=False)}
    print(goals.HEADING, flush=True)
    for goal in wanted:
        if goal.case in possible:
            failed |= _told(goal.case, partial(_reached, goal))
    if len(asked) < len(CASES):
        return failed
    print(f"\n{growth.HEADING}", flush=True)
    for family in growth.FAMILIES:
        failed |= _told(family.name, partial(_grown, family))
    return failed


def _reached(goal: goals.Goal) -> str:
    return goal.row(measured(CASES[goal.case]))


def _grown(family: growth.Family) -> str:
    return family.row([figure(case, measured(case)) for case in family.cases()])


def _told(name: str, row: Callable[[], str]) -> int:
    _tell(name)
    try:
        print(row(), flush=True)
    except RunFailedError as error:
        _tell(str(error))
        return 1
    return 0


def _measured(case: Case, *, runs: int) -> Result:
    return result(case, [measured(case) for _ in range(runs)])


def _compared(case: Case, *, other: Revision, runs: int) -> Comparison:
    def of(name: str, source: Path) -> Run:
        _tell(f"  {name}")
        return measured(case, source)

    pairs = alternated(partial(of, "this revision", ROOT), partial(of, other.name, other.source), runs)
    return comparison(case, other.name, list(pairs))


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    # Otherwise the process that measures, and the other revision's source, would stay behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
