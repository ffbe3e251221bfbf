"""Which bytes are in a file that may be compressed with gzip? Told by its first bytes, not by its name."""

import gzip
import zlib

_GZIP = b"\x1f\x8b"


class DamagedFileError(ValueError):
    """The compressed data cannot be read: one sentence."""


def uncompressed(data: bytes) -> bytes:
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except EOFError as error:
        raise DamagedFileError("the file is truncated: its gzip data ends too early") from error
    except (OSError, zlib.error) as error:
        raise DamagedFileError(f"the file is damaged: its gzip data cannot be read ({error})") from error
