"""Which text is in a file that the command line names, perhaps compressed with gzip? `-` is stdin.

A file that cannot be opened ends the command with a sentence. This module must not know what the text means.
"""

import sys
from pathlib import Path

import click

from reprieve.cluster.api.compression import DamagedFileError, uncompressed

STDIN = "-"


def bytes_of(filename: str) -> bytes:
    try:
        if filename == STDIN:
            return sys.stdin.buffer.read() if sys.stdin is not None else b""
        return Path(filename).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise click.ClickException(f"{filename}: cannot be read: {reason}") from error


def text_of(filename: str) -> str:
    try:
        return uncompressed(bytes_of(filename)).decode()
    except DamagedFileError as error:
        raise click.ClickException(f"{filename}: {error}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{filename}: expected text in UTF-8") from error
