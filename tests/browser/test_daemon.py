"""The page of `reprieve scheduler` over TLS: a token is typed, and its holder reads the names that it may."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.conftest import SHOWN
from tests.browser.devtools import Browser, Page
from tests.browser.live import classes
from tests.browser.reading import click, decisions, text, texts
from tests.e2e.daemon import HASTY, daemon, is_running, until
from tests.e2e.test_deploy import account_kubeconfig, applied
from tests.e2e.test_pages import Site, as_kubeadm_does, free_port
from tests.e2e.up import Kubectl, cluster_up, pod

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "wolves"}}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Its scheduler preempts a pod of another namespace."""
    with cluster_up("--nodes", "1", "--scheduler", "none") as kubeconfig:
        owner = Kubectl(kubeconfig, tmp_path)
        applied(owner, "base")
        owner.apply(*classes(), NAMESPACE)
        port, account = free_port(), account_kubeconfig(owner, tmp_path)
        flags = (*HASTY, *as_kubeadm_does(account), f"--secure-port={port}")
        with daemon(tmp_path / "log", account, *flags) as running:
            running.begins()
            wolves, ours = replace(owner, namespace="wolves"), {"schedulerName": "reprieve"}
            wolves.apply(pod("theirs", "12", priorityClassName="batch", **ours))
            until(lambda: is_running(wolves, "theirs"))
            owner.apply(pod("mine", "12", priorityClassName="urgent", **ours))
            owner("create", "serviceaccount", "viewer")
            for role, kind in (("reprieve-page-reader", "clusterrolebinding"), ("view", "rolebinding")):
                flags = (f"--clusterrole={role}", "--serviceaccount=default:viewer")
                owner("create", kind, f"viewer-{role}", *flags)
            yield Site(owner, port)
            assert [line for line in running.lines if line["level"] != "info"] == []
            assert running.ends() == 0


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """It shows no other site, so that the certificate that the scheduler made for itself may be any."""
    page, address = browser.page(), f"https://127.0.0.1:{site.port}/page/"
    page.send("Security.setIgnoreCertificateErrors", ignore=True)
    page.open(address)
    page.until("document.getElementById('connection')?.dataset.state === 'ended'")
    yield page
    errors, requests = page.seen.errors, page.seen.requests
    page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(address)] == []


def test_a_token_that_is_typed_opens_the_page_with_the_names_of_its_holder(page: Page, site: Site) -> None:
    assert 'No access: forbidden: User "system:anonymous" cannot get path "/page/"' in text(page, "#banner")
    enter(page, "not-a-token")
    page.until("document.getElementById('banner').textContent.includes('Unauthorized')")
    token = site.token("viewer")
    enter(page, token)
    page.until(SHOWN)
    page.until("document.getElementById('connection').dataset.state === 'live'")
    assert page.evaluate("document.getElementById('banner').hidden")
    page.until("document.querySelectorAll('.decisions > li').length > 0")
    (decision,) = decisions(page)
    click(page, f".decisions [data-id='{decision}'] button")
    page.until("!!document.querySelector('#victims-of tbody tr')")
    assert "default/mine" in text(page, "rp-decision-view .head")
    (victim,) = texts(page, "#victims-of tbody th")
    assert victim.startswith("(hidden) ")
    shown = page.evaluate("document.documentElement.outerHTML")
    assert "theirs" not in shown
    assert "wolves" not in shown
    assert token not in shown
    assert page.evaluate("document.getElementById('tab-exposure').hidden"), (
        "what the daemon serves only reads"
    )


def enter(page: Page, token: str) -> None:
    page.until("!!document.getElementById('token')")
    page.evaluate("document.getElementById('token').focus()")
    page.type(token)
    page.press("Enter")
