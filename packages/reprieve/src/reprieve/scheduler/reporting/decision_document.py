"""How is a decision written and read? In one form, for journals, servers, snapshots, what-ifs and the page.

A document is the record, with its version, with moments as RFC 3339, and with what its codes say. Fields that
a reader does not know are left out, those that it misses have their defaults; documents of older versions are
brought into this form (``older_decisions``).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from math import floor
from operator import itemgetter

import msgspec

from reprieve.model.effects import Target
from reprieve.model.formatting import writable
from reprieve.model.json import Json
from reprieve.scheduler.reporting.decision import Decision, DecisionPart
from reprieve.scheduler.reporting.older_decisions import V1ALPHA1, from_journal, from_v1alpha1

API_VERSION = "reprieve.dev/v1alpha2"
KIND = "Decision"


_FRACTION = re.compile(r"\.\d+")


class UnreadableDecisionError(ValueError):
    """What is wrong with a document, as a sentence."""


# --- writing -------------------------------------------------------------------------------------


def document_of(decision: Decision) -> Json:
    document: Json = {"apiVersion": API_VERSION, "kind": KIND, **plain(decision)}
    document["placements"] = placements_of(decision.places)
    for finding, written in zip(decision.findings, document["findings"], strict=True):
        written["reason"]["text"] = finding.reason.text
    if decision.preemption is not None:
        document["preemption"]["choice"] = decision.preemption.choice_text
    for holder, name in _moments(document):
        holder[name] = exact_stamp(holder[name])
    return document


def encoded(decision: Decision) -> bytes:
    return msgspec.json.encode(document_of(decision))


def plain(part: DecisionPart) -> Json:
    """As JSON is read: with lists, and null where a number is infinite."""
    found: Json = msgspec.json.decode(msgspec.json.encode(part))
    return found


def placements_of(places: Iterable[tuple[Target, str]]) -> list[Json]:
    return [{"pod": msgspec.to_builtins(pod), "node": node} for pod, node in places]


def exact_stamp(moment: float) -> str:
    """RFC 3339 with as many digits as are needed to read the same number again, at most nine."""
    moment = writable(moment)
    carry, nanoseconds = divmod(round((moment - floor(moment)) * 1e9), 10**9)
    whole = datetime.fromtimestamp(floor(moment) + carry, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{nanoseconds:09}".rstrip("0").rstrip(".") + "Z"


def _moments(document: Json) -> Iterator[tuple[Json, str]]:
    """Where in a document moments are."""
    eviction = document.get("eviction") or {}
    named = [
        (document, "at"),
        (document, "retryAt"),
        *((one, "first") for one in eviction.get("protected", ())),
    ]
    return ((holder, name) for holder, name in named if holder.get(name) is not None)


# --- reading -------------------------------------------------------------------------------------


def read_decision(body: bytes) -> Decision:
    """Raises UnreadableDecisionError."""
    try:
        document = msgspec.json.decode(body, type=Json)
    except (ValueError, RecursionError) as error:  # of msgspec, and bytes that are not UTF-8
        raise UnreadableDecisionError(f"not a {KIND}: {error}") from error
    return decision_of(document)


def decision_of(document: Json) -> Decision:
    """Raises UnreadableDecisionError. The document is not changed."""
    version = document.get("apiVersion")
    try:
        match version:
            case str() if version == API_VERSION:
                return _read(document)
            case str() if version == V1ALPHA1:
                return _read(from_v1alpha1(document))
            case None:
                return _read(from_journal(document))
    except (msgspec.MsgspecError, ValueError) as error:
        raise UnreadableDecisionError(f"not a {KIND}: {error}") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise UnreadableDecisionError(f"not a {KIND}: {error!r}") from error
    raise UnreadableDecisionError(f"a {KIND} of {version}, and this version reads up to {API_VERSION}")


def _read(document: Json) -> Decision:
    known = {**document, "placements": [*map(itemgetter("pod", "node"), document.get("placements", ()))]}
    if known.get("eviction"):
        eviction = known["eviction"]
        known["eviction"] = {**eviction, "protected": [{**one} for one in eviction.get("protected", ())]}
    for holder, name in _moments(known):
        if isinstance(holder[name], str):
            holder[name] = moment_of(holder[name])
    return msgspec.convert(known, Decision)


def moment_of(text: str) -> float:
    """A datetime would keep six digits, which are not enough."""
    fraction = _FRACTION.search(text)
    whole = datetime.fromisoformat(_FRACTION.sub("", text, count=1)).timestamp()
    return whole + float(f"0{fraction[0]}") if fraction is not None else whole
