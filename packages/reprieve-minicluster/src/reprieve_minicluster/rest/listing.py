"""Lists: resourceVersion semantics, pagination by limit and continue tokens."""

import base64
import binascii
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.rest.query_parameters import Query, forbidden_parameter
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.rest.selection import SelectionPredicate
from reprieve_minicluster.rest.serialization import ListExtent
from reprieve_minicluster.store import ObjectList, Store, Stored

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
_KEPT_LISTINGS = 8


class _Token(msgspec.Struct, frozen=True):
    """A continue token: the version of the list (None: the newest), and the last object of the page
    before."""

    version: int | None
    namespace: str
    name: str


_TOKEN = msgspec.json.Decoder(_Token)


class PagedLists:
    """Lists in pages. The last few paged lists are cached, since rewinding the store for each page is
    slow."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, str, int], ObjectList] = OrderedDict()

    def list(
        self, place: ResourcePath, query: Query, wanted: SelectionPredicate
    ) -> tuple[Sequence[Stored], ListExtent]:
        token = _token(query.text("continue"))
        check_version(query, self._store.version)
        limit = query.number("limit") or 0
        listing = self._continued(place, token, _exact_version(query, token), paged=limit > 0)
        start = _after(listing.items, token)
        chosen, rest = _page(listing.items, start, wanted, limit)
        if rest is None:
            return chosen, ListExtent(listing.version)
        remaining = rest if wanted.matches_all else None
        last = chosen[-1].key
        token = _Token(listing.version, last.namespace, last.name)
        return chosen, ListExtent(listing.version, _encoded(token), remaining)

    def _continued(
        self, place: ResourcePath, token: _Token | None, version: int | None, *, paged: bool
    ) -> ObjectList:
        """An expired list carries a token with which the client can continue at the newest version."""
        try:
            return self._listing(place, version, paged=paged)
        except ApiError as error:
            if token is not None:
                error.continue_token = _encoded(replace(token, version=None))
            raise

    def _listing(self, place: ResourcePath, version: int | None, *, paged: bool) -> ObjectList:
        at = self._store.version if version is None else version
        key = (place.kind.resource, place.namespace, at)
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        listing = self._store.list((place.kind.resource,), place.namespace, version)
        if paged:
            self._kept[key] = listing
            if len(self._kept) > _KEPT_LISTINGS:
                self._kept.popitem(last=False)
        return listing


def _page(
    items: Sequence[Stored], start: int, wanted: SelectionPredicate, limit: int
) -> tuple[list[Stored], int | None]:
    """Up to ``limit`` matching objects; how many objects follow, or None if there are no more."""
    if not limit and not start and wanted.matches_all:
        return list(items), None
    chosen: list[Stored] = []
    for i in range(start, len(items)):
        if not wanted.matches(items[i]):
            continue
        if limit and len(chosen) == limit:
            return chosen, len(items) - i
        chosen.append(items[i])
    return chosen, None


def check_version(query: Query, newest: int) -> None:
    """An ApiError for a version that does not exist yet, or an invalid combination of parameters."""
    version = query.version()
    match = query.choice("resourceVersionMatch", (EXACT, NOT_OLDER))
    if match and version is None:
        raise forbidden_parameter(
            "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
        )
    if match == EXACT and version == 0:
        raise forbidden_parameter(
            "resourceVersionMatch", "resourceVersionMatch Exact is forbidden for resourceVersion 0"
        )
    if query.text("continue"):
        if match:
            raise forbidden_parameter(
                "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"
            )
        if version:
            raise bad_request("specifying resource version is not allowed when using continue")
    check_reached(version, newest)


def check_reached(version: int | None, newest: int) -> None:
    if version is not None and version > newest:
        cause = Cause("ResourceVersionTooLarge", "Too large resource version")
        sentence = f"Too large resource version: {version}, current: {newest}"
        raise ApiError(504, "Timeout", sentence, (cause,), retry_after=1)


def _exact_version(query: Query, token: _Token | None) -> int | None:
    """The version of the list; None for the newest."""
    if token is not None:
        return token.version
    version = query.version()
    exact = query.text("resourceVersionMatch") == EXACT
    is_paged = bool(query.number("limit")) and not query.text("resourceVersionMatch")
    return version if version and (exact or is_paged) else None


# --- tokens ----------------------------------------------------------------------------------------


def _token(text: str) -> _Token | None:
    if not text:
        return None
    try:
        return _TOKEN.decode(base64.urlsafe_b64decode(text.encode()))
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise bad_request("continue key is not valid: this server has not issued it") from error


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _after(items: Sequence[Stored], token: _Token | None) -> int:
    """The index of the first object after the page that the token ends."""
    if token is None:
        return 0
    return bisect_right(items, (token.namespace, token.name), key=lambda item: item.key[1:])
