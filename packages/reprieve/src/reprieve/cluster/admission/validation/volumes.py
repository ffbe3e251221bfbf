"""Are volumes valid: those of pods, PersistentVolumes, claims, classes, and what storage drivers say?"""

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.api.names import label_key
from reprieve.cluster.api.schema import Object, fields_of
from reprieve.cluster.api.values import amount_of, items, means_the_same, part, text_in
from reprieve.model.json import Json

VOLUME_TYPES = fields_of(Object("Volume")).keys() - {"name"}
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"

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


@rule
def check_volume_type(volume: At) -> None:
    sources = sorted(part(volume.value).keys() & VOLUME_TYPES)
    if len(sources) != 1:
        volume.invalid(f"must be of exactly one type, got {', '.join(sources) or 'none'}")


# --- claims --------------------------------------------------------------------------------------


@rule
def check_claim_size(spec: At) -> None:
    """At the path that Kubernetes names."""
    asked = spec["resources"]["requests"].key("storage")
    _check_size(At(asked.value, f"{spec.path}.resources[storage]", spec.errors))


@rule
def check_access_modes(modes: At) -> None:
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


@rule
def check_claim_change(claim: At, old: Json) -> None:
    """A claim can be bound once, and may grow once it is bound."""
    spec, before = claim["spec"], part(old, "spec")
    bound = text_in(part(old, "status"), "phase") == "Bound"
    if not means_the_same(_fixed_claim(part(spec.value), before, bound), _fixed_claim(before, before, bound)):
        spec.forbid("must not be changed, apart from resources.requests of a claim that is bound")
    size, was = spec["resources"]["requests"]["storage"], part(before, "resources", "requests")
    new_amount, old_amount = amount_of(size.value), amount_of(was.get("storage"))
    if new_amount is not None and old_amount is not None and new_amount < old_amount:
        size.forbid("must not shrink")


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


@rule
def check_capacity(capacity: At) -> None:
    _check_size(capacity.key("storage"))
    if set(part(capacity.value)) - {"storage"}:
        capacity.refuse(ErrorType.UNSUPPORTED, 'supported values: "storage"')


@rule
def check_volume_source(spec: At) -> None:
    sources = sorted(part(spec.value).keys() & _SOURCES)
    if not sources:
        spec.refuse(ErrorType.REQUIRED, "must have a volume type, such as csi, local or hostPath")
    for extra in sources[1:]:
        spec[extra].forbid(f"must not be given beside {sources[0]}")
    if spec["csi"].is_object():
        check_marks(spec["csi"], "CSIPersistentVolumeSource")
    if spec["local"].is_object():
        spec["local"]["path"].require()
        if not part(spec.value, "nodeAffinity", "required"):
            spec["nodeAffinity"].refuse(ErrorType.REQUIRED, "must be given for a local volume")


@rule
def check_volume_change(spec: At, old: object) -> None:
    before = part(old)
    for name in sorted((part(spec.value).keys() | before.keys()) & _SOURCES):
        if not means_the_same(spec[name].value, before.get(name)):
            spec[name].forbid("must not be changed: it says where the volume is")


@rule
def check_affinity_change(affinity: At, old: object) -> None:
    if old is not None and not means_the_same(affinity.value, old):
        affinity.invalid("must not be changed once it is given")


# --- classes and drivers -------------------------------------------------------------------------


@rule
def check_provisioner(provisioner: At) -> None:
    if provisioner.is_text() and (wrong := label_key(provisioner.value.lower())):
        provisioner.invalid(wrong)


@rule
def check_texts(values: At) -> None:
    for _, value in values.entries():
        value.is_text()


@rule
def check_csi_node_change(thing: At, old: Json) -> None:
    """A listed driver is immutable, except for how many volumes it can attach."""
    before = {text_in(driver, "name"): driver for driver in items(part(old, "spec"), "drivers")}
    for driver in thing["spec"]["drivers"].items():
        known = before.get(driver["name"].text())
        if known is not None and not means_the_same(_fixed_driver(driver.value), _fixed_driver(known)):
            driver.invalid("must not be changed, apart from allocatable")


def _fixed_driver(driver: object) -> Json:
    return {name: value for name, value in part(driver).items() if name != "allocatable"}


@rule
def check_tokens(spec: At) -> None:
    if spec["serviceAccountTokenInSecrets"].given and spec["tokenRequests"].empty:
        spec["serviceAccountTokenInSecrets"].invalid("must not be given without tokenRequests")


@rule
def check_not_negative(size: At) -> None:
    amount = size.amount()
    if amount is not None and amount < 0:
        size.invalid("must not be less than zero")


@rule
def check_attachment_source(source: At) -> None:
    inline, named = source["inlineVolumeSpec"], source["persistentVolumeName"]
    if inline.given and named.given:
        source.forbid("must have only one of inlineVolumeSpec and persistentVolumeName")
    elif not inline.given:
        named.require("must be given, or inlineVolumeSpec")
