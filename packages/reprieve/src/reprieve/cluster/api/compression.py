"""Which bytes are in a file that may be compressed with gzip? Told by its first bytes, not by its name."""

import gzip
import io
import sys
import zlib

_GZIP = b"\x1f\x8b"


class DamagedFileError(ValueError):
    """The compressed data cannot be read: one sentence."""


def uncompressed(data: bytes, largest: int = sys.maxsize) -> bytes:
    """``largest``: no more bytes than that are made of a few."""
    if not data.startswith(_GZIP):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(largest) if largest < sys.maxsize else file.read()
            if len(found) == largest and file.read(1):
                raise DamagedFileError(f"the file is too large: expected at most {largest} bytes")
            return found
    except EOFError as error:
        raise DamagedFileError("the file is truncated: its gzip data ends too early") from error
    except (OSError, zlib.error) as error:
        raise DamagedFileError(f"the file is damaged: its gzip data cannot be read ({error})") from error
