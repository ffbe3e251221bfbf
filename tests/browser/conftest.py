"""One browser for all tests of a process; a scripted server and a page for each test."""

from collections.abc import Iterator

import pytest

from tests.browser.background import Background
from tests.browser.devtools import Browser, Page
from tests.browser.fake_server import FakeServer
from tests.browser.scripted import World, small

# The map is drawn first, and then numbers, lists and tables.
SHOWN = "!!document.querySelector('rp-cluster rp-table tbody tr') && !!document.querySelector('#numbers dd')"


@pytest.fixture(scope="session")
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.close()


@pytest.fixture(scope="session")
def browser(background: Background) -> Iterator[Browser]:
    browser = Browser(background)
    yield browser
    browser.close()


@pytest.fixture
def world() -> World:
    return small()


@pytest.fixture
def server(background: Background, world: World) -> Iterator[FakeServer]:
    server = FakeServer(background, world)
    yield server
    server.close()


@pytest.fixture
def page(browser: Browser, server: FakeServer) -> Iterator[Page]:
    """The page of the server, drawn. Whatever it complains about fails the test."""
    page = browser.page()
    opened(page, server)
    yield page
    errors, requests = page.seen.errors, page.seen.requests
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(server.address)] == []


def opened(page: Page, server: FakeServer) -> None:
    page.open(f"{server.address}#token={server.token}")
    page.until(SHOWN)
