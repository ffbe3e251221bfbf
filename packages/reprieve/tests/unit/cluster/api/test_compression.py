"""Files are read within a budget: small ones that would be large are refused before they are."""

import gzip
import os
from io import BytesIO
from pathlib import Path

import pytest

from reprieve.cluster.api.compression import (
    LARGEST_FILE,
    DamagedFileError,
    read_file,
    read_stream,
    uncompressed,
)

MEMBER = gzip.compress(bytes(1 << 20), mtime=0)


class CountedBytes(BytesIO):
    """Counts what is read, in chunks of a known size."""

    read_bytes = 0

    def read(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size >= 0
        found = super().read(size)
        self.read_bytes += len(found)
        return found


def test_no_more_is_read_than_the_budget() -> None:
    stream = CountedBytes(bytes(1000))
    assert len(read_stream(stream, 1000)) == 1000
    longer = CountedBytes(bytes(10_000_000))
    with pytest.raises(DamagedFileError, match="the file is too large: expected at most 1000 bytes"):
        read_stream(longer, 1000)
    assert longer.read_bytes == 1001


def test_no_more_is_inflated_than_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    inflated: list[int] = []
    read = gzip.GzipFile.read

    def counted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        found = read(file, size)
        inflated.append(len(found))
        return found

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    assert len(uncompressed(MEMBER * 3, 3 << 20)) == 3 << 20
    inflated.clear()
    with pytest.raises(DamagedFileError, match="too large: expected at most 2097152 bytes"):
        uncompressed(MEMBER * 4000, 2 << 20)  # 4 GB
    assert sum(inflated) == (2 << 20) + 1


def test_without_another_budget_there_is_one() -> None:
    with pytest.raises(DamagedFileError, match=f"expected at most {LARGEST_FILE} bytes"):
        uncompressed(MEMBER * 4000)


def test_a_file_is_too_large_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(DamagedFileError, match=f"expected at most {LARGEST_FILE} bytes"):
        read_file(path)
