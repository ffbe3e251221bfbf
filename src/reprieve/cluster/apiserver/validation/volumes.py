"""Are volumes valid: those of pods, PersistentVolumes and their claims, StorageClasses, and CSINodes?"""

from reprieve.cluster.api.names import dns_label, dns_subdomain, label_key
from reprieve.cluster.api.pod_fields import VOLUME
from reprieve.cluster.api.values import amount_of, items, part, same, text_in
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_selector
from reprieve.cluster.apiserver.validation.placement import check_node_selector
from reprieve.model.json import Json

VOLUME_TYPES = VOLUME.known - {"name"}

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"
_VOLUME_MODES = ("Block", "Filesystem")
_LONGEST_NODE_ID = 256
_MOST_PARAMETERS = 512

# The types of a PersistentVolume: volumes that outlive a pod, and local disks.
_SOURCES = VOLUME_TYPES - {
    "configMap",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "gitRepo",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
} | {"local"}


# --- in pods -------------------------------------------------------------------------------------


def check_pod_volumes(volumes: At) -> None:
    names: set[str] = set()
    for volume in volumes.items():
        volume["name"].must_name(dns_label)
        if volume["name"].text() in names:
            volume["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
        names.add(volume["name"].text())
        sources = sorted(part(volume.value).keys() & VOLUME_TYPES)
        if len(sources) != 1:
            volume.invalid(f"must be of exactly one type, got {', '.join(sources) or 'none'}")
        _check_pod_source(volume)


def _check_pod_source(volume: At) -> None:
    claim, ephemeral = volume["persistentVolumeClaim"], volume["ephemeral"]
    if claim.is_object():
        claim["claimName"].require()
        claim["claimName"].is_text()
    if ephemeral.is_object():
        template = ephemeral["volumeClaimTemplate"]
        if template.require():
            _check_claim_spec(template["spec"])
    if volume["csi"].is_object():
        volume["csi"]["driver"].require()
    if volume["emptyDir"].is_object() and volume["emptyDir"]["sizeLimit"].given:
        volume["emptyDir"]["sizeLimit"].amount()
    if volume["configMap"].is_object():
        volume["configMap"]["name"].require()
    if volume["secret"].is_object():
        volume["secret"]["secretName"].require()
    if volume["hostPath"].is_object():
        volume["hostPath"]["path"].require()


# --- claims --------------------------------------------------------------------------------------


def check_claim(claim: At) -> None:
    claim["spec"].require()
    _check_claim_spec(claim["spec"])


def _check_claim_spec(spec: At) -> None:
    _check_access(spec["accessModes"])
    check_selector(spec["selector"])
    if not spec["storageClassName"].empty:
        spec["storageClassName"].must_be(dns_subdomain)
    spec["volumeMode"].one_of(_VOLUME_MODES)
    _check_size(_storage(spec))


def _storage(spec: At) -> At:
    """The size that a claim requests, at the path that Kubernetes names."""
    asked = spec["resources"]["requests"].key("storage")
    return At(asked.value, f"{spec.path}.resources[storage]", spec.errors)


def _check_access(modes: At) -> None:
    modes.require("must have at least one access mode")
    for mode in modes.items():
        mode.one_of(_ACCESS_MODES)
    if isinstance(modes.value, list) and _ALONE in modes.value and any(m != _ALONE for m in modes.value):
        modes.forbid(f"must not have {_ALONE} together with others")


def _check_size(size: At) -> None:
    if size.require():
        amount = size.amount()
        if amount is not None and amount <= 0:
            size.invalid("must be more than zero")


def check_claim_change(claim: At, old: Json) -> None:
    """A claim can be bound once, and may grow once it is bound."""
    spec, before = claim["spec"], part(old, "spec")
    bound = text_in(part(old, "status"), "phase") == "Bound"
    if not same(_fixed_claim(part(spec.value), before, bound), _fixed_claim(before, before, bound)):
        spec.forbid("must not be changed, apart from resources.requests of a claim that is bound")
    size, was = spec["resources"]["requests"]["storage"], part(before, "resources", "requests")
    new_amount, old_amount = amount_of(size.value), amount_of(was.get("storage"))
    if new_amount is not None and old_amount is not None and new_amount < old_amount:
        size.forbid("must not shrink")
    spec["volumeMode"].unchanged(before.get("volumeMode"))


def _fixed_claim(spec: Json, before: Json, bound: bool) -> Json:
    """The immutable part of a claim, given its old spec."""
    fixed = dict(spec)
    if not before.get("volumeName"):
        fixed.pop("volumeName", None)
    if before.get("storageClassName") is None:
        fixed.pop("storageClassName", None)
    if bound:
        requests = {k: v for k, v in part(spec, "resources", "requests").items() if k != "storage"}
        fixed["resources"] = {**part(spec, "resources"), "requests": requests}
        fixed.pop("volumeAttributesClassName", None)
    return fixed


# --- persistent volumes --------------------------------------------------------------------------


def check_volume(volume: At) -> None:
    spec = volume["spec"]
    if not spec.require():
        return
    _check_access(spec["accessModes"])
    capacity = spec["capacity"]
    _check_size(capacity.key("storage"))
    if set(part(capacity.value)) - {"storage"}:
        capacity.refuse(ErrorType.UNSUPPORTED, 'supported values: "storage"')
    spec["persistentVolumeReclaimPolicy"].one_of(("Delete", "Recycle", "Retain"))
    spec["volumeMode"].one_of(_VOLUME_MODES)
    if not spec["storageClassName"].empty:
        spec["storageClassName"].must_be(dns_subdomain)
    if spec["nodeAffinity"].is_object() and spec["nodeAffinity"]["required"].given:
        check_node_selector(spec["nodeAffinity"]["required"])
    _check_source(spec)


def _check_source(spec: At) -> None:
    sources = sorted(part(spec.value).keys() & _SOURCES)
    if not sources:
        spec.refuse(ErrorType.REQUIRED, "must have a volume type, such as csi, local or hostPath")
    for extra in sources[1:]:
        spec[extra].forbid(f"must not be given beside {sources[0]}")
    if spec["csi"].is_object():
        spec["csi"]["driver"].require()
        spec["csi"]["volumeHandle"].require()
    if spec["local"].is_object():
        spec["local"]["path"].require()
        if not part(spec.value, "nodeAffinity", "required"):
            spec["nodeAffinity"].refuse(ErrorType.REQUIRED, "must be given for a local volume")


def check_volume_change(volume: At, old: Json) -> None:
    spec, before = volume["spec"], part(old, "spec")
    for name in sorted((part(spec.value).keys() | before.keys()) & _SOURCES):
        if not same(spec[name].value, before.get(name)):
            spec[name].forbid("must not be changed: it says where the volume is")
    spec["volumeMode"].unchanged(before.get("volumeMode"))
    if "nodeAffinity" in before and not same(spec["nodeAffinity"].value, before["nodeAffinity"]):
        spec["nodeAffinity"].invalid("must not be changed once it is given")


# --- classes and drivers -------------------------------------------------------------------------


def check_storage_class(thing: At) -> None:
    provisioner = thing["provisioner"]
    if provisioner.require() and provisioner.is_text() and (wrong := label_key(provisioner.value.lower())):
        provisioner.invalid(wrong)
    thing["reclaimPolicy"].one_of(("Delete", "Retain"))
    thing["volumeBindingMode"].one_of(("Immediate", "WaitForFirstConsumer"))
    thing["parameters"].at_most_items(_MOST_PARAMETERS)
    for _, value in thing["parameters"].entries():
        value.is_text()
    for term in thing["allowedTopologies"].items():
        _check_topology(term["matchLabelExpressions"])


def _check_topology(expressions: At) -> None:
    keys: set[str] = set()
    for expression in expressions.items():
        expression["key"].must_name(label_key)
        if expression["key"].text() in keys:
            expression["key"].refuse(ErrorType.DUPLICATE, "must be there only once")
        keys.add(expression["key"].text())
        expression["values"].require()
        check_distinct(expression["values"])


def check_distinct(values: At) -> None:
    seen: set[str] = set()
    for value in values.items():
        if value.text() in seen:
            value.refuse(ErrorType.DUPLICATE, "must be there only once")
        seen.add(value.text())


def check_storage_class_change(thing: At, old: Json) -> None:
    for field in ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"):
        if not same(thing[field].value or None, old.get(field) or None):
            thing[field].invalid("the field is immutable")


def check_csi_node(thing: At) -> None:
    names: set[str] = set()
    for driver in thing["spec"]["drivers"].items():
        driver["name"].must_name(dns_subdomain)
        if driver["name"].text() in names:
            driver["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
        names.add(driver["name"].text())
        driver["nodeID"].require()
        if len(driver["nodeID"].text()) > _LONGEST_NODE_ID:
            driver["nodeID"].refuse(
                ErrorType.TOO_LONG, f"must be no longer than {_LONGEST_NODE_ID} characters"
            )
        for key in driver["topologyKeys"].items():
            key.must_be(label_key)
        check_distinct(driver["topologyKeys"])
        driver["allocatable"]["count"].at_least(0)


def check_csi_node_change(thing: At, old: Json) -> None:
    """A listed driver is immutable, except for how many volumes it can attach."""
    before = {text_in(driver, "name"): driver for driver in items(part(old, "spec"), "drivers")}
    for driver in thing["spec"]["drivers"].items():
        known = before.get(driver["name"].text())
        if known is not None and not same(_fixed_driver(driver.value), _fixed_driver(known)):
            driver.invalid("must not be changed, apart from allocatable")


def _fixed_driver(driver: object) -> Json:
    return {name: value for name, value in part(driver).items() if name != "allocatable"}
