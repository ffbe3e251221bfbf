"""Which text is in a file that the command line names? `-` is stdin.

A file that cannot be opened ends the command with a sentence. This module must not know what the text means.
"""

import sys
from pathlib import Path

import click

STDIN = "-"


def text_of(filename: str) -> str:
    try:
        if filename == STDIN:
            return sys.stdin.buffer.read().decode() if sys.stdin is not None else ""
        return Path(filename).read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"{filename}: cannot be read: {reason}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{filename}: expected text in UTF-8") from error
