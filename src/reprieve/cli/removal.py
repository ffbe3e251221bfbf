"""How is a directory with a token removed if its process is killed, and cannot do it itself?

A shell waits for the end of a pipe that only this process holds open: it closes however the process ends.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT_AND_REMOVE = 'cat > /dev/null; rm -rf -- "$1"'


@contextmanager
def removed_if_killed(directory: Path) -> Iterator[None]:
    """In a session of its own, so that Ctrl-C does not end it. A system without a shell does without it."""
    try:
        keeper = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT_AND_REMOVE, "reprieve", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield
        return
    with keeper:  # closes the pipe, and waits until the directory is gone
        yield
