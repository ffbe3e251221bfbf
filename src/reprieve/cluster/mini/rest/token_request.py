"""TokenRequest: a bearer token for a ServiceAccount, with an expiry."""

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.api.values import texts
from reprieve.cluster.mini.auth.authentication import AUDIENCES
from reprieve.cluster.mini.errors import ApiError, invalid
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.rest.field_validation import check_types
from reprieve.cluster.mini.rest.http_messages import ApiResponse, answer
from reprieve.cluster.mini.rest.request_bodies import read_object
from reprieve.cluster.mini.rest.url_matching import check_type
from reprieve.cluster.mini.rest.write_handlers import ApiCall

_SHORTEST, _LONGEST, _USUAL = 600, 1 << 32, 3600  # seconds
_TOKEN_REQUEST = "authentication.k8s.io/v1"


def create_token(call: ApiCall) -> ApiResponse:
    account = call.api.store.get(call.place.key)
    body = read_object(call.request)
    check_type(body, _TOKEN_REQUEST, "TokenRequest")
    check_types(_TOKEN_REQUEST, "TokenRequest", body)
    spec = peek(body, "spec")
    seconds = spec.get("expirationSeconds", _USUAL)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not _SHORTEST <= seconds <= _LONGEST:
        raise invalid("TokenRequest", "spec.expirationSeconds", f"expected {_SHORTEST} to {_LONGEST} seconds")
    if spec.get("boundObjectRef"):
        raise ApiError(
            422, "Invalid", "TokenRequest is invalid: spec.boundObjectRef: not supported by the mini cluster"
        )
    until = call.api.clock() + seconds
    audiences = list(texts(spec, "audiences")) or list(AUDIENCES)
    token = call.api.issuer.account_token(account.key, account.uid, until, audiences)
    status = {"token": token, "expirationTimestamp": stamp(until)}
    head = {"kind": "TokenRequest", "apiVersion": _TOKEN_REQUEST, "metadata": peek(body, "metadata")}
    said = {**spec, "audiences": audiences, "expirationSeconds": seconds}
    return answer({**head, "spec": said, "status": status}, 201)
