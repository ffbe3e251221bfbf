"""The CA for client certificates, which the API server publishes in a ConfigMap for servers beside it."""

from collections.abc import Generator

from reprieve.cluster.kube.requests import KubeRequest, KubeResponse

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
_KEY = "client-ca-file"


class ClientCaUnavailableError(Exception):
    """The ConfigMap cannot be read, or lacks the CA."""


def read_client_ca() -> Generator[KubeRequest, KubeResponse, bytes]:
    """As PEM; ClientCaUnavailableError if there is none."""
    response = yield KubeRequest("GET", f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}")
    if not response.is_success:
        raise ClientCaUnavailableError(response.message)
    data = response.object.get("data")
    found = data.get(_KEY) if isinstance(data, dict) else None
    if not isinstance(found, str) or not found.strip():
        raise ClientCaUnavailableError(f"ConfigMap {NAMESPACE}/{NAME} has no {_KEY}")
    return found.encode()
