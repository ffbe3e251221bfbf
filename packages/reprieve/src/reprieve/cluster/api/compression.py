"""Which bytes are in a file, perhaps compressed with gzip? Never more than a budget.

All files that somebody names are read here. Compression is told by the first bytes, not by the name.
"""

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import BinaryIO

# A snapshot of 5,000 nodes with 100,000 pods is smaller.
LARGEST_FILE = 512 << 20  # bytes, as they are and uncompressed
_GZIP = b"\x1f\x8b"
_CHUNK = 1 << 20


class DamagedFileError(ValueError):
    """The bytes cannot be read, or are too many: one sentence."""


def read_file(path: Path) -> bytes:
    """The bytes as they are; raises OSError, or DamagedFileError if they are too many."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > LARGEST_FILE:
            raise _too_large(LARGEST_FILE)
        return read_stream(file)


def uncompressed(data: bytes, largest: int = LARGEST_FILE) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return read_stream(file, largest)
    except EOFError as error:
        raise DamagedFileError("the file is truncated: its gzip data ends too early") from error
    except (OSError, zlib.error) as error:
        raise DamagedFileError(f"the file is damaged: its gzip data cannot be read ({error})") from error


def read_stream(file: BinaryIO | gzip.GzipFile, largest: int = LARGEST_FILE) -> bytes:
    """Stops at the first chunk that is beyond the budget."""
    found = io.BytesIO()
    while chunk := file.read(min(_CHUNK, largest + 1 - found.tell())):
        found.write(chunk)
        if found.tell() > largest:
            raise _too_large(largest)
    return found.getvalue()


def _too_large(largest: int) -> DamagedFileError:
    return DamagedFileError(f"the file is too large: expected at most {largest} bytes")
