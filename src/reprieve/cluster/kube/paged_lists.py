"""How is the list of one kind requested in pages, and what is in a page? Nothing is sent here."""

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.kube.client import NoAnswerError, RefusedError
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.model.objects import Record

PAGE_SIZE = 500  # objects in one response
# Pods that have ended need no resources, and finished Jobs may leave a great many.
_NOT_ENDED = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)


class ListMeta(Record, frozen=True):
    """``remaining_item_count``: 0 also if the server does not say."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int = 0


class ListPage(Record, frozen=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None


_PAGE = msgspec.json.Decoder(ListPage)


def selection_of(mapping: RestMapping) -> tuple[tuple[str, str], ...]:
    return _NOT_ENDED if mapping.kind == "Pod" else ()


def list_request(mapping: RestMapping, token: str, limit: int, namespace: str = "") -> KubeRequest:
    """``token``: of the page before; empty for the first. ``limit``: 0 for all at once."""
    paging = {"limit": str(limit) if limit else "", "continue": token}
    query = (pair for pair in paging.items() if pair[1])
    return KubeRequest("GET", mapping.path(namespace), (*selection_of(mapping), *query))


def page_of(response: KubeResponse) -> ListPage:
    """RefusedError if the server rejected the request, NoAnswerError if it sent something else."""
    if not response.is_success:
        raise RefusedError(response)
    try:
        return _PAGE.decode(response.body)
    except UNDECODABLE as error:
        raise NoAnswerError("the server's response is not a list") from error
