"""What the page shows, read from the page: as a reader sees it, or as it knows it."""

from typing import Any

from reprieve.model.json import Json
from tests.browser.devtools import Page
from tests.browser.scripted import World

KNOWN = """(() => {
  const picture = document.querySelector("rp-cluster").picture;
  return {
    revision: picture.revision,
    nodes: [...picture.nodes.values()].map(
      (n) => [n.name, n.pool, n.zone, Number(n.ready), Number(n.cordoned), n.allocatable, n.taints]),
    pods: [...picture.pods.values()].map(
      (p) => [p.key, p.uid, p.node, p.priority, p.group, p.requests, p.state, p.nominated, p.reason]),
    groups: [...picture.groups.values()].map((g) => [g.key, g.priority, g.minCount, g.mode, g.parent]),
    decisions: [...picture.decisions.values()],
    onNodes: [...picture.nodes.keys()].flatMap((name) => [...picture.podsOn(name)].map((p) => [name, p.uid])),
    pending: [...picture.pending].map((p) => p.uid),
  };
})()"""


def known(page: Page) -> Json:
    """What the page knows, in an order of its own."""
    found = page.evaluate(KNOWN)
    return {name: _sorted(value) for name, value in found.items()}


def told(world: World, revision: int) -> Json:
    """The same, as the server knows it."""
    pods = list(world.pods.values())
    found = {
        "revision": revision,
        "nodes": [node.row() for node in world.nodes.values()],
        "pods": [pod.row() for pod in pods],
        "groups": list(world.groups.values()),
        "decisions": list(world.decisions.values()),
        "onNodes": [[pod.node, pod.uid] for pod in pods if pod.node in world.nodes],
        "pending": [pod.uid for pod in pods if pod.state == 0],
    }
    return {name: _sorted(value) for name, value in found.items()}


def _sorted(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, list) else value


def numbers(page: Page) -> dict[str, str]:
    """The line at the top."""
    found: dict[str, str] = page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#numbers > div')].map((d) => "
        "[d.dataset.name, d.querySelector('dd').textContent]))"
    )
    return found


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.evaluate(
        f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent.trim())"
    )
    return found


def text(page: Page, selector: str) -> str:
    found: str = page.evaluate(f"document.querySelector({selector!r}).textContent.trim()")
    return found


def decisions(page: Page) -> list[str]:
    """The ids in the list, as they are listed."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.decisions [data-id]')].map((e) => e.dataset.id)"
    )
    return found


def in_order(world: World) -> list[str]:
    """Preemptions first, then refusals, each newest first."""
    newest = list(reversed(world.decisions.values()))
    return [one["id"] for one in sorted(newest, key=lambda one: one["outcome"] == "refused")]


def click(page: Page, selector: str) -> None:
    """As a mouse does it, after scrolling: what lies above the element gets the click."""
    x, y = page.until(
        f"(() => {{ const e = document.querySelector({selector!r});"
        " e?.scrollIntoView({ block: 'nearest' }); const b = e?.getBoundingClientRect();"
        " return b?.width && [b.left + b.width / 2, b.top + b.height / 2]; })()"
    )
    page.click(x, y)


def pixel(page: Page, node: str, across: float, up: float) -> str:
    """The colour in the tile of a node, at a share of its width and of its height from below, as #rrggbb."""
    found: str = page.evaluate(
        f"""(() => {{
          const map = document.querySelector("rp-cluster");
          const tile = map.layout.tiles[map.layout.tileOf.get({node!r})];
          const [x, y] = [tile.x + {across} * tile.width, tile.y + (1 - {up}) * tile.height];
          // Of a copy: reading a canvas often would change how the browser draws it.
          const pen = new OffscreenCanvas(1, 1).getContext("2d", {{ willReadFrequently: true }});
          pen.drawImage(map.querySelector("canvas"), -Math.floor(x), -Math.floor(y));
          const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
          return "#" + [r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("");
        }})()"""
    )
    return found


def colour(page: Page, name: str) -> str:
    """A colour of the style sheet."""
    found: str = page.evaluate(
        f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
    )
    return found
