"""Which events does the API server still keep? Read once, in pages."""

from http import HTTPStatus

import msgspec

from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.paged_lists import PAGE_SIZE, list_request, page_of
from reprieve.cluster.kube.requests import KubeRequest
from reprieve.cluster.kube.rest_mapping import EVENT
from reprieve.model.json import Json


async def events_with_reason(connection: Connection, reason: str) -> list[Json]:
    """RefusedError if the server rejects the request, NoAnswerError if there is no answer.

    If the continue token expires on the way, once more without a limit.
    """
    found: list[Json] = []
    token, limit = "", PAGE_SIZE
    while True:
        request = list_request(EVENT, token, limit)
        chosen = KubeRequest("GET", request.path, (("fieldSelector", f"reason={reason}"), *request.query))
        response = await connection.send(chosen)
        if response.status == HTTPStatus.GONE and token:
            found, token, limit = [], "", 0
            continue
        page = page_of(response)
        values = (msgspec.json.decode(raw) for raw in page.items or ())
        found += (value for value in values if isinstance(value, dict))
        token = page.metadata.continue_
        if not token:
            return found
