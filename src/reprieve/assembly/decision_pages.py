"""What does `/debug/decisions` serve? Recent decisions, without the names that the client may not get.

``?after=N`` gives only what is new since the resourceVersion N of an earlier answer, ``?limit=N`` the newest
N (500 without it).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from reprieve.inquiry.decision_list import kept_document, list_document
from reprieve.model.json import Json
from reprieve.report.hidden_names import MayGet
from reprieve.runtime.recent_decisions import EncodedDecision, RecentDecisions

DECISIONS_PATH = "/debug/decisions"
_USUALLY = 500


@dataclass(frozen=True, slots=True)
class AskedDecisions:
    """What a query asks for, and the revision of the moment."""

    kept: tuple[EncodedDecision, ...]
    revision: int


def decisions_for(recent: RecentDecisions, query: Mapping[str, str], may_get: MayGet) -> bytes:
    """Raises ValueError if the query is malformed."""
    asked = asked_for(recent, query)
    return page_of([kept_document(kept.decoded(), may_get) for kept in asked.kept], asked.revision)


def page_of(items: Sequence[Json], revision: int) -> bytes:
    return msgspec.json.encode(list_document(items, revision))


def asked_for(recent: RecentDecisions, query: Mapping[str, str]) -> AskedDecisions:
    """A bounded copy, made by the thread that schedules. Raises ValueError if the query is malformed."""
    after, limit = _number(query, "after", 0), _number(query, "limit", _USUALLY)
    return AskedDecisions(recent.copied(after, limit), recent.revision)


def _number(query: Mapping[str, str], name: str, usual: int) -> int:
    text = query.get(name, "") or str(usual)
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError(f'{name}: expected a number, got "{text}"')
    return int(text)
