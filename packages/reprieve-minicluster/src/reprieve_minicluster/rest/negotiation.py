"""Content negotiation: whether a client accepts objects, tables, or metadata alone."""

from enum import Enum

from reprieve_minicluster.errors import ApiError

_JSON = ("application/json", "application/*", "*/*", "")
_META = "meta.k8s.io"
_DISCOVERY = "apidiscovery.k8s.io"


class ResponseForm(Enum):
    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


def form_of(accept: str, *, is_list: bool) -> ResponseForm:
    """The most preferred form that is served; an ApiError 406 when there is none."""
    unfit = ResponseForm.METADATA if is_list else ResponseForm.METADATA_LIST
    for media, parameters in _ranges(accept):
        if media not in _JSON:
            continue
        if "as" not in parameters:
            return ResponseForm.OBJECT
        form = _FORMS.get(parameters["as"])
        if form is not None and form is not unfit and _is_known(parameters):
            return form
    raise not_acceptable()


def wants_aggregated(accept: str) -> str:
    """The version of aggregated discovery that a client accepts; empty if it wants none."""
    for media, parameters in _ranges(accept):
        if media in _JSON and parameters.get("g") == _DISCOVERY and parameters.get("v") in ("v2", "v2beta1"):
            return parameters["v"]
        if media in _JSON and "as" not in parameters:
            return ""
    raise not_acceptable()


def not_acceptable() -> ApiError:
    message = "only the following media types are accepted: application/json, also as Table (meta.k8s.io/v1)"
    return ApiError(406, "NotAcceptable", message)


_FORMS = {form.value: form for form in ResponseForm if form.value}


def _is_known(parameters: dict[str, str]) -> bool:
    return parameters.get("g", _META) == _META and parameters.get("v", "v1") in ("v1", "v1beta1")


def _ranges(accept: str) -> list[tuple[str, dict[str, str]]]:
    """Each media range with its parameters, in order of preference."""
    found = []
    for part in accept.split(","):
        media, *rest = (piece.strip() for piece in part.split(";"))
        parameters = dict(piece.partition("=")[::2] for piece in rest)
        found.append((media.lower(), parameters))
    return sorted(found, key=lambda entry: -_weight(entry[1].get("q", "1")))


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
