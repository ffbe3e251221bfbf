"""What does `/debug/decisions` serve? Recent decisions, without the names that the client may not get.

``?after=N`` gives only what is new since the resourceVersion N of an earlier answer, ``?limit=N`` the newest
N (500 without it), ``?version=v1alpha1`` the form of the release before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.inquiry.decision_list import kept_document, list_document
from reprieve.model.json import Json
from reprieve.report.hidden_names import MayGet
from reprieve.runtime.recent_decisions import EncodedDecision, RecentDecisions
from reprieve.scheduler.reporting.decision_document import API_VERSION
from reprieve.scheduler.reporting.older_decisions import V1ALPHA1

DECISIONS_PATH = "/debug/decisions"
_USUALLY = 500


@dataclass(frozen=True, slots=True)
class AskedDecisions:
    """What a query asks for, and the revision of the moment."""

    kept: tuple[EncodedDecision, ...]
    revision: int
    version: str = API_VERSION


def decisions_for(recent: RecentDecisions, query: Mapping[str, str], may_get: MayGet) -> bytes:
    """Raises ValueError if the query is malformed."""
    asked = asked_decisions(recent, query)
    return decisions_page(
        [kept_document(kept.decoded(), may_get, asked.version) for kept in asked.kept], asked
    )


def decisions_page(items: Sequence[Json], asked: AskedDecisions) -> bytes:
    return msgspec.json.encode(list_document(items, asked.revision, asked.version))


def asked_decisions(recent: RecentDecisions, query: Mapping[str, str]) -> AskedDecisions:
    """A bounded copy, made by the thread that schedules. Raises ValueError if the query is malformed."""
    after, limit = _number(query, "after", 0), _number(query, "limit", _USUALLY)
    return AskedDecisions(recent.copied(after, limit), recent.revision, _version(query))


def _version(query: Mapping[str, str]) -> str:
    name = query.get("version", "")
    versions = {"": API_VERSION, "v1alpha2": API_VERSION, "v1alpha1": V1ALPHA1}
    if name not in versions:
        raise ValueError(f'version: expected v1alpha2 or v1alpha1, got "{name}"')
    return versions[name]


def _number(query: Mapping[str, str], name: str, usual: int) -> int:
    text = query.get(name, "") or str(usual)
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f'{name}: expected a number, got "{text}"')
    return int(text)
