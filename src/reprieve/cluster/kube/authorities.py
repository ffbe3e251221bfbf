"""Who vouches for the clients of an API server? It tells those who serve beside it, in a ConfigMap, so that a
client certificate counts there as well."""

from collections.abc import Generator

from reprieve.cluster.kube.requests import Request, Response

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_KEY = "client-ca-file"


class UntoldError(Exception):
    """Why it is not known."""


def client_authorities() -> Generator[Request, Response, bytes]:
    """As PEM; an UntoldError if the server does not tell."""
    response = yield Request("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}")
    if not response.is_success:
        raise UntoldError(response.message)
    data = response.object.get("data")
    told = data.get(_KEY) if isinstance(data, dict) else None
    if not isinstance(told, str) or not told.strip():
        raise UntoldError(f"ConfigMap {NAMESPACE}/{NAME} has no {_KEY}")
    return told.encode()
