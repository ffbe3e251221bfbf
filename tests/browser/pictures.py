"""The pictures of the docs: `python -m tests.browser.pictures` makes them again.

They show the scripted cluster, so that the same source gives the same picture.
"""

import base64
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.background import Background
from tests.browser.conftest import SHOWN
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import click
from tests.browser.scripted import World, large, small
from tests.browser.small_png import small_png

FOLDER = Path(__file__).parents[2] / "docs" / "how-to" / "images"
WIDTH, HEIGHT = 1280, 800
MOST_BYTES = 150_000


def decision(page: Page, server: FakeServer) -> None:
    page.press("d")
    click(page, ".decisions [data-id='d-317'] button")
    page.until("!!document.querySelector('#victims-of tbody tr')")


def whatif(page: Page, server: FakeServer) -> None:
    victims = [pod for pod in server.world.pods.values() if pod.group == "team-c/eval"]
    lines = [
        {
            "pod": {"namespace": "team-c", "name": pod.key.partition("/")[2]},
            "node": pod.node,
            "priority": pod.priority,
            "because": {"text": f"{pod.node} is short of nvidia.com/gpu"},
        }
        for pod in victims
    ]
    placements = [{"pod": f"team-a/new-{i}", "node": pod.node} for i, pod in enumerate(victims)]
    server.answers["whatif"] = (
        200,
        {
            "outcome": "Preempts",
            "demand": {"kind": "PodGroup", "namespace": "team-a", "name": "new", "priority": 700, "pods": 8},
            "placements": placements,
            "preemption": {
                "victims": lines,
                "choice": "the best of 4 placements by: lowest highest priority",
            },
            "overlay": {"victims": [pod.uid for pod in victims], "spared": [], "placements": placements},
        },
    )
    page.press("w")
    page.type(
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata:\n  name: new\n  namespace: team-a\n"
    )
    page.press("Control+Enter")
    page.until("!!document.querySelector('rp-whatif .outcome')")


def node(page: Page, server: FakeServer) -> None:
    page.press("p")
    page.evaluate("document.querySelector('rp-cluster').pin('gpu8-21')")


def nothing(page: Page, server: FakeServer) -> None:
    """The map as it is."""


Steps = Callable[[Page, FakeServer], None]
PICTURES: dict[str, tuple[Callable[[], World], str, Steps]] = {
    "page-decision": (small, "light", decision),
    "page-node-dark": (small, "dark", node),
    "page-what-if": (small, "light", whatif),
    "page-large": (large, "light", nothing),
}


@contextmanager
def taken(browser: Browser, background: Background, name: str) -> Iterator[bytes]:
    world, scheme, steps = PICTURES[name]
    server = FakeServer(background, world())
    page = browser.page(WIDTH, HEIGHT)
    page.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    page.open(f"{server.address}#token={server.token}")
    page.until(SHOWN)
    page.until("document.querySelectorAll('rp-scrubber svg rect').length > 0")
    steps(page, server)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(1)), 300))")
    yield smaller(page)
    page.close()
    server.close()


def smaller(page: Page) -> bytes:
    """The browser reads its own picture, on a page without a policy."""
    shown = base64.b64encode(page.picture()).decode()
    page.open("about:blank")
    page.until("location.href === 'about:blank'")
    read = page.evaluate(
        f"""(async () => {{
          const image = new Image();
          image.src = "data:image/png;base64,{shown}";
          await image.decode();
          const pen = new OffscreenCanvas({WIDTH}, {HEIGHT}).getContext("2d");
          pen.drawImage(image, 0, 0);
          const bytes = pen.getImageData(0, 0, {WIDTH}, {HEIGHT}).data;
          let text = "";
          for (let at = 0; at < bytes.length; at += 32768) {{
            text += String.fromCharCode(...bytes.subarray(at, at + 32768));
          }}
          return btoa(text);
        }})()"""
    )
    return small_png(base64.b64decode(read), WIDTH, HEIGHT)


def main() -> int:
    background = Background()
    browser = Browser(background)
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        with taken(browser, background, name) as picture:
            (FOLDER / f"{name}.png").write_bytes(picture)
            print(f"{FOLDER / name}.png: {len(picture):,} bytes")
    browser.close()
    background.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
