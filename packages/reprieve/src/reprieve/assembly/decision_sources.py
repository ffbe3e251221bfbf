"""Where do recent decisions come from? From a journal on disk, or from a running scheduler over HTTPS.

What is wrong with a source is a sentence.
"""

import os
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

from reprieve.assembly.decision_pages import DECISIONS_PATH
from reprieve.cluster.kube import client
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.kubeconfig import AccessError, KubeconfigCluster, find_login
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError
from reprieve.inquiry.decision_list import LIST_KIND, read_decisions
from reprieve.model.json import Json
from reprieve.runtime.journal import JournalError, read_results
from reprieve.runtime.recent_decisions import KeptDecision, RecentDecisions, decisions_in
from reprieve.scheduler.reporting.decision_document import UnreadableDecisionError

_ELSEWHERE = (
    "name the scheduler with --server https://HOST:10259 (as after `kubectl port-forward`), or its journal "
    "with --journal DIR"
)


class DecisionSourceError(Exception):
    """Why a source has no decisions for us, as a sentence. ``absent``: there is no such source at all."""

    def __init__(self, sentence: str, *, absent: bool = False) -> None:
        super().__init__(sentence)
        self.absent = absent


@dataclass(frozen=True, slots=True)
class DecisionServer:
    """``server``: a replica of the scheduler; without one, the API server of the kubeconfig, which serves
    decisions if `reprieve up` runs it. ``authority``: a file with the certificates to trust."""

    kubeconfig: str = ""
    context: str = ""
    server: str = ""
    authority: str = ""
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """``revision``: ask for what comes after it next time. ``unreadable``: items of another version."""

    decisions: tuple[KeptDecision, ...]
    revision: int = 0
    unreadable: int = 0


def journal_decisions(directory: Path, after: int = 0) -> DecisionPage:
    """Raises DecisionSourceError."""
    try:
        kept: RecentDecisions = decisions_in(read_results(directory))
    except JournalError as error:
        raise DecisionSourceError(str(error)) from error
    except UnreadableDecisionError as error:
        raise DecisionSourceError(f"{directory}: a decision cannot be read: {error}") from error
    return DecisionPage(tuple(kept.after(after)), kept.revision)


async def served_decisions(source: DecisionServer, after: int = 0) -> DecisionPage:
    """Raises DecisionSourceError."""
    try:
        access = access_to(source)
        async with client.connected(access) as connection:
            response = await connection.send(KubeRequest("GET", DECISIONS_PATH, (("after", str(after)),)))
    except (AccessError, NoAnswerError) as error:
        untrusted = "CERTIFICATE_VERIFY_FAILED" in str(error) and source.server
        hint = ": pass --certificate-authority FILE or --insecure-skip-tls-verify" if untrusted else ""
        raise DecisionSourceError(f"{error}{hint}") from error
    if not response.is_success:
        raise _refused(source, access, response)
    return _page(access, response.object)


def access_to(source: DecisionServer) -> Access:
    """Use the credentials of the kubeconfig. They go to another server only if a flag names it."""
    login = find_login(source.kubeconfig, source.context, os.environ)
    if not source.server:
        return Access(login, os.environ)
    if not source.server.startswith("https://"):
        raise AccessError(f'--server: expected an https URL, got "{source.server}"')
    cluster = KubeconfigCluster(
        server=source.server,
        certificate_authority=source.authority,
        insecure_skip_tls_verify=source.insecure,
    )
    return Access(replace(login, cluster=cluster), os.environ)


def _refused(source: DecisionServer, access: Access, response: KubeResponse) -> DecisionSourceError:
    text = response.message
    if response.status == HTTPStatus.FORBIDDEN:
        right = f"a role that allows get on the nonResourceURL {DECISIONS_PATH}"
        where = (
            "" if source.server else f"; if another scheduler than that of `reprieve up` runs: {_ELSEWHERE}"
        )
        return DecisionSourceError(
            f"{access.server} denies access to {DECISIONS_PATH}: expected {right}{where}",
            absent=not source.server,
        )
    if response.status == HTTPStatus.NOT_FOUND:
        found = f"{access.server} does not serve {DECISIONS_PATH}"
        return DecisionSourceError(found if source.server else f"{found}: {_ELSEWHERE}", absent=True)
    return DecisionSourceError(f"{access.server} does not show its decisions: {text}")


def _page(access: Access, document: Json) -> DecisionPage:
    items, metadata = document.get("items"), document.get("metadata")
    if document.get("kind") != LIST_KIND or not isinstance(items, list):
        raise DecisionSourceError(
            f"{access.server} answers {DECISIONS_PATH} with something else than decisions"
        )
    revision = str(metadata.get("resourceVersion") or "0") if isinstance(metadata, dict) else "0"
    read = read_decisions(item for item in items if isinstance(item, dict))
    return DecisionPage(read.decisions, int(revision) if revision.isdigit() else 0, read.unreadable)
