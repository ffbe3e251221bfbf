"""The pictures of the docs exist, are small, and can be made again."""

import struct
import zlib

from tests.browser.background import Background
from tests.browser.devtools import Browser
from tests.browser.pictures import FOLDER, HEIGHT, MOST_BYTES, PICTURES, WIDTH, taken
from tests.browser.small_png import small_png


def test_every_picture_is_there_and_small() -> None:
    assert {path.stem for path in FOLDER.glob("page-*.png")} == set(PICTURES)
    for path in FOLDER.glob("page-*.png"):
        picture = path.read_bytes()
        assert size(picture) == (WIDTH, HEIGHT)
        assert len(picture) < MOST_BYTES


def test_a_picture_can_be_made_again(browser: Browser, background: Background) -> None:
    with taken(browser, background, "page-decision") as picture:
        assert size(picture) == (WIDTH, HEIGHT)
        assert 20_000 < len(picture) < MOST_BYTES


def test_a_palette_keeps_rare_colours() -> None:
    """A thousand shades of grey, and one red pixel."""
    greys = b"".join(bytes((i % 250, (i // 4) % 250, i % 250, 255)) * 20 for i in range(1000))
    picture = small_png(greys + bytes((255, 0, 0, 255)), 1, 20_001)
    at = picture.index(b"PLTE")
    palette = picture[at + 4 : at + 4 + 768]
    assert bytes((255, 0, 0)) in {palette[i : i + 3] for i in range(0, 768, 3)}
    data = picture[picture.index(b"IDAT") + 4 : picture.index(b"IEND") - 8]
    assert len(zlib.decompress(data)) == 2 * 20_001


def size(picture: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", picture[16:24])
    return width, height
