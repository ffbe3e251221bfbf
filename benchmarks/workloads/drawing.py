"""How long does the page take to draw a cluster, and to keep up with it?

A real browser without a window shows a scripted cluster, served from this process: what is measured is the
page, and no scheduler. Processor time is that of the page's main thread.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.timing import Run, Spent, summed_up

# The browser tests have the driver and the scripted cluster; a benchmark needs the same.
from tests.browser.background import Background
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.scripted import churn, large

_VISITS = 5
_ROUNDS = 100
_EVERY = 0.1
_CHANGED = 500
_FRAMES = """new Promise((done) => {
  const spans = [];
  let last = performance.now();
  const frame = (now) => {
    spans.push(now - last);
    last = now;
    if (window.rounds < %d) requestAnimationFrame(frame);
    else done(spans.slice(1));
  };
  requestAnimationFrame(frame);
})"""
_FIRST = """(() => {
  const { firstAt } = document.querySelector("rp-cluster")?.stats ?? { firstAt: 0 };
  const answer = performance.getEntriesByType("resource").find(({ name }) => name.endsWith("api/picture"));
  return firstAt && firstAt - answer.responseEnd;
})()"""


def measure(what: str, nodes: int, pods: int, rounds: int = _ROUNDS, visits: int = _VISITS) -> Run:
    with _browsing(nodes, pods) as (browser, server):
        if what == "first":
            return summed_up([_first(browser, server) for _ in range(visits)])
        return _frames(browser, server, rounds, min(_CHANGED, pods))


@contextmanager
def _browsing(nodes: int, pods: int) -> Iterator[tuple[Browser, FakeServer]]:
    background = Background()
    server = FakeServer(background, large(nodes, pods))
    browser = Browser(background)
    yield browser, server
    browser.close()
    server.close()
    background.close()


def _opened(browser: Browser, server: FakeServer) -> Page:
    page = browser.page()
    page.send("Performance.enable", timeDomain="threadTicks")
    page.open(f"{server.address}#token={server.token}")
    return page


def _first(browser: Browser, server: FakeServer) -> Spent:
    page = _opened(browser, server)
    milliseconds = page.until(_FIRST)
    busy = _busy(page)
    page.close()
    return Spent(milliseconds / 1e3, busy)


def _frames(browser: Browser, server: FakeServer, rounds: int, changed: int) -> Run:
    page = _opened(browser, server)
    page.until(_FIRST)
    page.evaluate("void (window.rounds = 0)")
    # The counter is the picture's revision, so that the last round is in the last frame.
    revision = "document.querySelector('rp-cluster').picture.revision"
    page.evaluate(f"void setInterval(() => {{ window.rounds = {revision} - 1; }}, 20)")
    busy = _busy(page)
    page.evaluate(f"void (window.spans = {_FRAMES % rounds})")
    for changes in churn(server.world, rounds, changed):
        began = time.monotonic()
        server.change(*changes)
        time.sleep(max(0.0, began + _EVERY - time.monotonic()))
    spans: list[float] = page.evaluate("window.spans")
    spent = (_busy(page) - busy) / len(spans)
    page.close()
    return summed_up([Spent(span / 1e3, spent) for span in spans])


def _busy(page: Page) -> float:
    """Seconds for which the main thread had the processor."""
    metrics = {one["name"]: one["value"] for one in page.send("Performance.getMetrics")["metrics"]}
    found: float = metrics["TaskDuration"]
    return found
