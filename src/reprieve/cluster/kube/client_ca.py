"""Who vouches for the clients of an API server? It tells those who serve beside it, in a ConfigMap, so that a
client certificate counts there as well."""

from collections.abc import Generator

from reprieve.cluster.kube.requests import ApiRequest, ApiResponse

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_KEY = "client-ca-file"


class ClientCaUnavailableError(Exception):
    """Why it is not known."""


def read_client_ca() -> Generator[ApiRequest, ApiResponse, bytes]:
    """As PEM; an UntoldError if the server does not tell."""
    response = yield ApiRequest("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}")
    if not response.is_success:
        raise ClientCaUnavailableError(response.message)
    data = response.object.get("data")
    told = data.get(_KEY) if isinstance(data, dict) else None
    if not isinstance(told, str) or not told.strip():
        raise ClientCaUnavailableError(f"ConfigMap {NAMESPACE}/{NAME} has no {_KEY}")
    return told.encode()
