"""Are the objects of storage drivers valid: CSIDriver, CSIStorageCapacity, VolumeAttachment?"""

from reprieve.cluster.api.names import dns_subdomain
from reprieve.cluster.api.values import part, same
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_selector
from reprieve.model.json import Json

_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 2**32
_SHORTEST_PERIOD = 10
_LONGEST_DRIVER = 63


def check_driver(driver: At) -> None:
    name, spec = driver["metadata"]["name"], driver["spec"]
    if len(name.text()) > _LONGEST_DRIVER:
        name.refuse(ErrorType.TOO_LONG, f"must be no longer than {_LONGEST_DRIVER} characters")
    spec["fsGroupPolicy"].one_of(("File", "None", "ReadWriteOnceWithFSType"))
    for mode in spec["volumeLifecycleModes"].items():
        mode.one_of(("Ephemeral", "Persistent"))
    spec["nodeAllocatableUpdatePeriodSeconds"].at_least(_SHORTEST_PERIOD)
    _check_tokens(spec)


def _check_tokens(spec: At) -> None:
    seen: set[str] = set()
    for request in spec["tokenRequests"].items():
        audience = request["audience"]
        if audience.text() in seen:
            audience.refuse(ErrorType.DUPLICATE, "must be there only once")
        seen.add(audience.text())
        request["expirationSeconds"].within(_SHORTEST_TOKEN, _LONGEST_TOKEN)
    if spec["serviceAccountTokenInSecrets"].given and not seen:
        spec["serviceAccountTokenInSecrets"].invalid("must not be given without tokenRequests")


def check_driver_change(driver: At, old: Json) -> None:
    for field in ("attachRequired", "volumeLifecycleModes"):
        if not same(driver["spec"][field].value, part(old, "spec").get(field)):
            driver["spec"][field].invalid("the field is immutable")


def check_capacity(capacity: At) -> None:
    check_selector(capacity["nodeTopology"])
    capacity["storageClassName"].must_name(dns_subdomain)
    for field in ("capacity", "maximumVolumeSize"):
        amount = capacity[field].amount()
        if amount is not None and amount < 0:
            capacity[field].invalid("must not be less than zero")


def check_capacity_change(capacity: At, old: Json) -> None:
    for field in ("nodeTopology", "storageClassName"):
        if not same(capacity[field].value, old.get(field)):
            capacity[field].invalid("the field is immutable")


def check_attachment(attachment: At) -> None:
    spec = attachment["spec"]
    spec["attacher"].must_name(dns_subdomain)
    spec["nodeName"].must_name(dns_subdomain)
    inline, named = spec["source"]["inlineVolumeSpec"], spec["source"]["persistentVolumeName"]
    if inline.given and named.given:
        spec["source"].forbid("must have only one of inlineVolumeSpec and persistentVolumeName")
    elif not inline.given:
        named.require("must be given, or inlineVolumeSpec")


def check_attachment_change(attachment: At, old: Json) -> None:
    if not same(attachment["spec"].value, part(old, "spec")):
        attachment["spec"].invalid("the field is immutable")
