"""What owners of objects have in common: adoption by selector, batches, availability, hashes."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.controllers.api_writes import RequeueAt, Update, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import PodFacts, Thing, controller_uid
from reprieve_minicluster.store import Key

Owner = TypeVar("Owner", bound=Thing)


def owners_of(
    cache: ControllerCache, kind: type[Owner], thing: Thing, selects: Callable[[Owner], bool]
) -> Iterator[Key]:
    """The key of the owner that controls an object; if none does, of those that would adopt it."""
    uid, owners = controller_uid(thing.metadata), cache.of(kind)
    owner = owners.by_uid(uid)
    if owner is not None:
        yield key_of(owner)
    elif not uid:
        yield from (key_of(one) for one in owners.inside(thing.metadata.namespace) if selects(one))


def adoptions(
    selector: Json, owner: ControllerOwner, owned: Iterable[Thing], free: Iterable[Thing]
) -> list[Write]:
    """Adopt what the selector matches, and release the others.

    ``free``: objects of the namespace without a controller. An empty selector changes nothing.
    """
    wanted = _compiled(msgspec.json.encode(selector))
    if wanted is None:
        return []
    released = [one for one in owned if _can_move(one) and not wanted.matches(one.metadata.labels)]
    adopted = [one for one in free if _can_move(one) and wanted.matches(one.metadata.labels)]
    return [*(_release(one, owner.uid) for one in released), *(_adopt(one, owner) for one in adopted)]


def matches(selector: Json, labels: Mapping[str, str]) -> bool:
    wanted = _compiled(msgspec.json.encode(selector))
    return wanted is not None and wanted.matches(labels)


@cached_by_text(entries=1024, size=1 << 24)
def _compiled(raw: bytes) -> Selector | None:
    """None for a selector that is empty or malformed."""
    problems = Problems(Ref(kind="", namespace="", name=""))
    try:
        selector = msgspec.json.decode(raw, type=LabelSelector)
    except msgspec.ValidationError:
        return None
    compiled = compile_selector(selector, "", problems)
    empty = not (selector.match_labels or selector.match_expressions)
    return None if problems.found or empty else compiled


def _can_move(thing: Thing) -> bool:
    return thing.metadata.deletion_timestamp is None


def _adopt(thing: Thing, owner: ControllerOwner) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [*(meta.get("ownerReferences") or ()), owner.reference()]

    return Update.of(thing, change)


def _release(thing: Thing, owner: str) -> Write:
    def change(body: Json) -> None:
        meta = body["metadata"]
        meta["ownerReferences"] = [r for r in meta.get("ownerReferences") or () if r.get("uid") != owner]

    return Update.of(thing, change)


# --- batches --------------------------------------------------------------------------------------


BURST = 300
# Of one owner, without a node: more would fill the memory, and find no room before these do.
MOST_WAITING = 10_000


def next_batch(missing: int, pods: Iterable[PodFacts]) -> int:
    """How many of the missing pods to create now. ``pods``: those that there are."""
    waiting = sum(not pod.spec.node_name for pod in pods)
    return max(0, min(missing, BURST, MOST_WAITING - waiting))


# --- times and hashes --------------------------------------------------------------------


def available_at(pod: PodFacts, seconds: int) -> float | None:
    """When it becomes available; None for a pod that is not ready."""
    ready = next((c for c in pod.status.conditions if c.type == "Ready" and c.status == "True"), None)
    if ready is None:
        return None
    turned = ready.last_transition_time
    return (turned.timestamp() if turned is not None else 0.0) + seconds


def is_available(pod: PodFacts, seconds: int, now: float) -> bool:
    """Without minReadySeconds, do not compare times: timestamps of pods are truncated to seconds."""
    at = available_at(pod, seconds)
    return at is not None and (seconds == 0 or at <= now)


def requeues(pods: Iterable[PodFacts], seconds: int, now: float) -> Iterator[Write]:
    """When the next of them becomes available."""
    times = (available_at(pod, seconds) for pod in pods)
    first = min((at for at in times if at is not None and at > now), default=None)
    if seconds and first is not None:
        yield RequeueAt(first)


_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Json) -> str:
    """Equal templates have equal hashes, whatever the order of their fields."""
    digest = hashlib.blake2b(msgspec.json.encode(template, order="deterministic"), digest_size=10).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)
