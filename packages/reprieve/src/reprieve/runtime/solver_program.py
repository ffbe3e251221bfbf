"""The program of the solver process: reads a message, solves it, writes the answer, and so on.

It yields the processor to the scheduler, and ends with it, also in the middle of a search.
"""

import os
import signal
import struct
import sys
from functools import partial
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import BinaryIO

# Before each message: how many bytes follow, and when it was sent, by the clock of the machine. This process
# may have been started for it, and that counts.
REQUEST = struct.Struct(">Qd")
ANSWER = struct.Struct(">Q")  # before each answer: how many bytes follow

_NICENESS = 10
_LEFT = 0.2  # of the time for which an answer is waited for: the search may end late, and it has a way to go
_LEFT_SECONDS = 0.3  # at least, but no more than half of it


def main() -> None:
    # Imported here: the parent, which imports this module for the format, has no need of it.
    from reprieve.preemption.least_disturbance.solver_task import seconds_for, solved

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides when this process ends
    os.nice(_NICENESS)
    messages: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    while True:
        sent, message = messages.get()
        answer = solved(message, partial(_left, sent + time_to_search(seconds_for(message))))
        sys.stdout.buffer.write(ANSWER.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()


def time_to_search(seconds: float) -> float:
    """``seconds``: after which the answer is not needed any more."""
    return seconds - max(_LEFT * seconds, min(_LEFT_SECONDS, seconds / 2))


def _left(end: float) -> float:
    return end - monotonic()


def _read(pipe: BinaryIO, messages: SimpleQueue[tuple[float, bytes]]) -> None:
    """Runs in a thread of its own, so that the end of the parent is noticed while a search runs."""
    while len(head := pipe.read(REQUEST.size)) == REQUEST.size:
        length, sent = REQUEST.unpack(head)
        messages.put((sent, pipe.read(length)))
    os._exit(0)


if __name__ == "__main__":
    main()
