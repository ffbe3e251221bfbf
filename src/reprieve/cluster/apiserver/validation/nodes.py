"""Is a Node valid: taints, capacity, and the owners that disable preemption for resizes on it?"""

from reprieve.cluster.api.names import declared_feature, label_key
from reprieve.cluster.api.values import part, same
from reprieve.cluster.apiserver.field_errors import At
from reprieve.cluster.apiserver.validation.placement import check_taints
from reprieve.cluster.apiserver.validation.resources import check_amounts
from reprieve.cluster.apiserver.validation.volumes import check_distinct
from reprieve.model.json import Json

_MOST_OWNERS = 20


def check_node(node: At) -> None:
    spec = node["spec"]
    check_taints(spec["taints"])
    spec["unschedulable"].flag()
    _check_owners(spec["podPreemptionPolicy"]["disableResizePreemption"])
    _check_owners(spec["preemptionPolicy"]["disablePodResizePreemption"])  # its former place
    check_node_status(node, {})


def _check_owners(owners: At) -> None:
    owners.at_most_items(_MOST_OWNERS)
    for owner in owners.items():
        owner.must_name(label_key)
    check_distinct(owners)


def check_node_change(node: At, old: Json) -> None:
    spec, before = node["spec"], part(old, "spec")
    for field in ("providerID", "podCIDR", "podCIDRs"):
        if before.get(field) and not same(spec[field].value, before[field]):
            spec[field].forbid("must not be changed once it is given")


def check_node_status(node: At, old: Json) -> None:
    status = node["status"]
    for field in ("capacity", "allocatable"):
        check_amounts(status[field])
    for condition in status["conditions"].items():
        condition["type"].require()
        condition["status"].require()
    features = status["declaredFeatures"]
    for feature in features.items():
        feature.must_be(declared_feature)
    check_distinct(features)
    names = [feature.text() for feature in features.items()]
    if names != sorted(names):
        features.invalid("must be in alphabetical order")
