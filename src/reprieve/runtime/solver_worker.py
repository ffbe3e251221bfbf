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

LENGTH = struct.Struct(">Q")  # before each message, in both directions: how many bytes follow

_NICENESS = 10
_IN_TIME = 0.8  # of the time for which an answer is waited for: it has a way to go


def main() -> None:
    # Imported here: the parent, which imports this module for the format, has no need of it.
    from reprieve.preemption.least_disturbance.solver_task import seconds_for, solved

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides when this process ends
    os.nice(_NICENESS)
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    while True:
        message = messages.get()
        end = monotonic() + _IN_TIME * seconds_for(message)
        answer = solved(message, partial(_is_over, end))
        sys.stdout.buffer.write(LENGTH.pack(len(answer)) + answer)
        sys.stdout.buffer.flush()


def _is_over(end: float) -> bool:
    return monotonic() > end


def _read(pipe: BinaryIO, messages: SimpleQueue[bytes]) -> None:
    """In a thread of its own, so that the end of the parent is noticed while a search runs."""
    while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
        messages.put(pipe.read(*LENGTH.unpack(head)))
    os._exit(0)


if __name__ == "__main__":
    main()
