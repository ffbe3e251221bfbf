"""Dynamic resource allocation; the mini cluster allocates no devices."""

from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.kinds.cells import AGE, NAME, TableColumn, at, text
from reprieve_minicluster.kinds.kind import APART, SPEC, ResourceKind, RoleAccess, SelectableField

_GROUP = "resource.k8s.io"


def _state(body: Json, now: float) -> str:
    if at(body, "metadata.deletionTimestamp"):
        return "deleted"
    if not at(body, "status.allocation"):
        return "pending"
    return "allocated,reserved" if at(body, "status.reservedFor") else "allocated"


_for_cluster = partial(ResourceKind, namespaced=False, generation=SPEC)
KINDS = (
    _for_cluster(
        "DeviceClass",
        "deviceclasses",
        _GROUP,
        description="A category of devices that claims can request. The mini cluster allocates no devices.",
    ),
    _for_cluster(
        "DeviceTaintRule",
        "devicetaintrules",
        _GROUP,
        description="Adds a taint to matching devices.",
        status=APART,
    ),
    ResourceKind(
        "ResourceClaim",
        "resourceclaims",
        _GROUP,
        description="A request for devices, and the devices that a scheduler has allocated.",
        status=APART,
        access=RoleAccess.EDIT,
        merge_keys={"status.reservedFor": "uid"},
        columns=(NAME, TableColumn("State", _state), AGE),
    ),
    ResourceKind(
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        _GROUP,
        description="A template of a ResourceClaim that is created for each pod.",
        access=RoleAccess.EDIT,
    ),
    _for_cluster(
        "ResourceSlice",
        "resourceslices",
        _GROUP,
        description="Devices that a driver offers.",
        selectable=(SelectableField("spec.nodeName"), SelectableField("spec.driver")),
        columns=(
            NAME,
            text("Node", "spec.nodeName"),
            text("Driver", "spec.driver"),
            text("Pool", "spec.pool.name"),
            AGE,
        ),
    ),
)
