"""Connections break: the page says so, goes on where it was, and nothing is missing afterwards."""

import time

from tests.browser.devtools import Page
from tests.browser.fake_server import FakeServer
from tests.browser.reading import decisions, in_order, known, text, told
from tests.browser.scripted import Pod, World, summary
from tests.browser.test_cluster_view import at_revision


def test_no_decision_is_missing_after_reconnects(page: Page, server: FakeServer, world: World) -> None:
    for number in range(400, 420):
        if number % 4 == 0:
            server.drop_readers()
        server.change(
            world.decide(summary(number)), world.put(Pod(f"team-a/p-{number}", 0, [1, 1, 0], "cpu16-0"))
        )
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-419'")
    at_revision(page, server)
    assert decisions(page) == in_order(world)
    assert known(page) == told(world, server.revision)
    page.until(
        "document.getElementById('banner').hidden"
        " && document.getElementById('connection').textContent === 'live'"
    )


def test_it_reloads_when_the_server_does_not_remember(page: Page, server: FakeServer, world: World) -> None:
    page.until("document.getElementById('connection').dataset.state === 'live'")
    server.drop_readers()
    server.change(world.decide(summary(500)))
    server.forget()
    server.change(world.decide(summary(501)))
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-501'")
    assert decisions(page) == in_order(world)


def test_changes_that_do_not_continue_what_is_known_reload_the_page(
    page: Page, server: FakeServer, world: World
) -> None:
    world.decide(summary(600))
    server.revision += 5  # the stream has a hole
    server.change(world.decide(summary(601)))
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-601'")
    assert "d-600" in decisions(page)


def test_a_lost_connection_is_said_and_what_was_seen_stays(
    page: Page, server: FakeServer, world: World
) -> None:
    page.until("document.getElementById('connection').dataset.state === 'live'")
    page.go_offline(offline=True)
    server.drop_readers()
    page.until("!document.getElementById('banner').hidden")
    assert "Connection lost: the server cannot be reached" in text(page, "#banner") or "closed" in text(
        page, "#banner"
    )
    assert decisions(page) == in_order(world)
    server.change(world.decide(summary(700)))
    page.go_offline(offline=False)
    page.until("document.getElementById('banner').hidden")
    page.until("document.querySelector('.decisions > li').dataset.id === 'd-700'")


def test_a_token_that_ended_is_a_sentence_and_it_does_not_try_again(page: Page, server: FakeServer) -> None:
    page.until("document.getElementById('connection').dataset.state === 'live'")
    server.token = "another"
    server.drop_readers()
    page.until("document.getElementById('connection').dataset.state === 'ended'")
    assert text(page, "#banner").startswith("No access: the token is not valid. What you see is of ")
    asked = len(page.seen.requests)
    time.sleep(0.7)
    assert len(page.seen.requests) == asked
    assert "nodes" in text(page, "#numbers")


def test_the_token_leaves_the_address_bar(page: Page, server: FakeServer) -> None:
    assert page.evaluate("location.href") == server.address
    assert server.token not in page.evaluate("document.documentElement.outerHTML")
