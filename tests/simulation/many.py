"""`python -m tests.simulation.many FIRST LAST`: plays crowd after crowd in one process, for hours if need be;
with `--jumps`, crowds in which the clock is set both ways; with `--calm`, clusters that are not crowded.

Prints a line for every hundred seeds, and each failure in full; goes on after one.
"""

import argparse
import gc
import logging
import time
import traceback
from collections.abc import Callable

from tests.simulation.crowded_play import play_crowd, play_jumps
from tests.simulation.play import play


class _Contained(logging.Handler):
    """What supervision logs, and goes on after, is a failure here."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def failure_of(play: Callable[[int], object], seed: int, contained: _Contained) -> str:
    """What went wrong, in full; empty if nothing did."""
    contained.records.clear()
    try:
        play(seed)
    except Exception as error:
        return "".join(traceback.format_exception(error))
    return "\n".join(map(logging.Formatter().format, contained.records))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.many", description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--jumps", dest="play", action="store_const", const=play_jumps, default=play_crowd)
    parser.add_argument("--calm", dest="play", action="store_const", const=play)
    asked = parser.parse_args()
    contained = _Contained()
    logging.getLogger("reprieve.supervision.supervisor").addHandler(contained)
    # A play leaves little behind, and modules are no garbage: looking for cycles less often saves a tenth.
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    failed = 0
    for seed in range(asked.first, asked.last + 1):
        failure = failure_of(asked.play, seed, contained)
        if failure:
            failed += 1
            _say(f"seed {seed} failed:\n{failure}")
        if (seed + 1) % 100 == 0 or seed == asked.last:
            _say(f"{asked.first} to {seed}: {failed} failed, {time.process_time():.0f} s of CPU time")


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main()
