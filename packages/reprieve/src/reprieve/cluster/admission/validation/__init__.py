"""What must hold for an object of each kind, and what may an update change of it?

The schema says it: in marks of its fields, and by naming rules, which are the functions in these modules.
None of them raises or changes anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from reprieve.cluster.admission.validation import (
    controllers,
    definitions,
    extensions,
    groups,
    metadata,
    placement,
    pod_changes,
    pods,
    resources,
    small_kinds,
    volumes,
)
from reprieve.cluster.api.codec import CLUSTER_SCOPED
from reprieve.cluster.api.names import TextForm, dns_label, dns_subdomain, path_segment
from reprieve.cluster.api.schema import root

# They must be imported before an object is checked: each announces its rules.
MODULES = (
    *(controllers, definitions, extensions, groups, metadata, placement),
    *(pod_changes, pods, resources, small_kinds, volumes),
)

_NAMES: Mapping[str, TextForm] = {
    **dict.fromkeys(("Namespace", "Service", "StatefulSet"), dns_label),
    **dict.fromkeys(("Event", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), path_segment),
    **dict.fromkeys(("APIService", "CertificateSigningRequest"), path_segment),
}


@dataclass(frozen=True, slots=True)
class Rules:
    """``type``: the kind in the schema, as its API version spells it. ``name``: the form of its names."""

    type: str
    name: TextForm
    namespaced: bool


def rules_of(api_version: str, kind: str) -> Rules:
    """Kinds that the schema does not list have their metadata checked, and nothing else."""
    name = _NAMES.get(kind, dns_subdomain)
    return Rules(root(api_version, kind).name, name, kind not in CLUSTER_SCOPED)
