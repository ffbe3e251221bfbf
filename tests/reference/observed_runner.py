"""Does Reprieve decide as kube-scheduler did? Compares it with recorded decisions, case by case.

    python -m tests.reference.observed_runner [--dir DIR] [--family FAMILY]

Prints the cases that disagree, and a summary. Exit status: 0 if none disagrees, 1 if one does, 2 if there
is nothing to compare or a case cannot be read.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.reference.observed_cases import Case, UnreadableCaseError, read_case
from tests.reference.observed_deciders import Capability, NotBuilt, capability_of, decide_by

DEFAULT_DIR = Path(__file__).parent / "observed"
PROGRESS_EVERY = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Agrees:
    pass


@dataclass(frozen=True, slots=True)
class Disagrees:
    case: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.case}: expected {self.expected}, got {self.got}"


Verdict = Agrees | Disagrees | NotBuilt | UnreadableCaseError


def judge(case: Case) -> Agrees | Disagrees | NotBuilt:
    """A case agrees if what we do is one of the things that were seen."""
    decided = [decide_by(capability_of(case), case, recorded) for recorded in case.observed]
    if any(ours == theirs for ours, theirs in zip(decided, case.observed, strict=True)):
        return Agrees()
    missing = next((d for d in decided if isinstance(d, NotBuilt)), None)
    return missing or Disagrees(case.name, " or ".join(map(str, case.observed)), str(decided[0]))


def verdicts(paths: Sequence[Path], family: str | None) -> Iterator[Verdict]:
    for path in with_progress(paths):
        try:
            case = read_case(path)
        except UnreadableCaseError as error:
            yield error
            continue
        if family in (None, case.family):
            yield judge(case)


def with_progress(paths: Sequence[Path]) -> Iterator[Path]:
    """Says now and then how far it is; a short run says nothing."""
    last = time.monotonic()
    for done, path in enumerate(paths):
        if time.monotonic() - last >= PROGRESS_EVERY:
            last = time.monotonic()
            print(f"{done} of {len(paths)} cases done", file=sys.stderr, flush=True)
        yield path


def summary(agreeing: int, total: int, missing: Counter[Capability]) -> Iterator[str]:
    if missing:
        counts = ", ".join(f"{c} {missing[c]}" for c in Capability if c is not Capability.PLACEMENT)
        yield f"{missing.total()} need capabilities not built yet: {counts}"
    yield f"{agreeing} of {total} agree"


def run(directory: Path, family: str | None = None) -> int:
    kinds: Counter[type] = Counter()
    missing: Counter[Capability] = Counter()
    for verdict in verdicts(sorted(directory.glob("*.json")), family):
        kinds[type(verdict)] += 1
        match verdict:
            case NotBuilt(capability):
                missing[capability] += 1
            case Disagrees():
                print(verdict)
            case UnreadableCaseError():
                print(verdict, file=sys.stderr)
    unreadable = kinds.pop(UnreadableCaseError, 0)
    if kinds:
        print("\n".join(summary(kinds[Agrees], kinds.total(), missing)))
    elif not unreadable:
        of_family = f" of family {family}" if family else ""
        print(f"There is no recorded case{of_family} in {directory}.", file=sys.stderr)
    if unreadable or not kinds:
        return 2
    return 1 if kinds[Disagrees] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare with recorded decisions of kube-scheduler.")
    parser.add_argument("--dir", type=Path, default=DEFAULT_DIR, help="where the cases are")
    parser.add_argument("--family", help="only the cases of this family")
    arguments = parser.parse_args()
    return run(arguments.dir, arguments.family)


if __name__ == "__main__":
    sys.exit(main())
