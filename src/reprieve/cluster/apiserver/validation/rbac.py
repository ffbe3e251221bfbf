"""Are roles and their bindings valid?"""

from reprieve.cluster.apiserver.field_errors import At
from reprieve.model.json import Json

_GROUP = "rbac.authorization.k8s.io"
_OF_PEOPLE = ("User", "Group")


def check_role(role: At) -> None:
    for rule in role["rules"].items():
        _check_rule(rule)
        if not rule["nonResourceURLs"].empty:
            rule["nonResourceURLs"].invalid("a Role is for one namespace, and cannot give rights to paths")


def check_cluster_role(role: At) -> None:
    for rule in role["rules"].items():
        _check_rule(rule)
    selectors = role["aggregationRule"]["clusterRoleSelectors"]
    if role["aggregationRule"].given and selectors.empty:
        selectors.require("must have at least one selector where aggregationRule is given")


def _check_rule(rule: At) -> None:
    rule["verbs"].require("must have at least one verb")
    if rule["nonResourceURLs"].empty:
        rule["apiGroups"].require("must have at least one group")
        rule["resources"].require("must have at least one resource")
    elif not (rule["apiGroups"].empty and rule["resources"].empty and rule["resourceNames"].empty):
        rule["nonResourceURLs"].invalid("must not stand beside apiGroups, resources or resourceNames")


def check_binding(binding: At) -> None:
    _check_binding(binding, ("Role", "ClusterRole"), namespaced=True)


def check_cluster_binding(binding: At) -> None:
    _check_binding(binding, ("ClusterRole",), namespaced=False)


def _check_binding(binding: At, roles: tuple[str, ...], *, namespaced: bool) -> None:
    ref = binding["roleRef"]
    if ref["apiGroup"].require():
        ref["apiGroup"].one_of((_GROUP,))
    if ref["kind"].require():
        ref["kind"].one_of(roles)
    ref["name"].require()
    for subject in binding["subjects"].items():
        _check_subject(subject, namespaced=namespaced)


def _check_subject(subject: At, *, namespaced: bool) -> None:
    subject["name"].require()
    if not subject["kind"].require():
        return
    subject["kind"].one_of((*_OF_PEOPLE, "ServiceAccount"))
    if subject["kind"].value in _OF_PEOPLE:
        subject["apiGroup"].one_of((_GROUP,))
    elif subject["kind"].value == "ServiceAccount":
        if not subject["apiGroup"].empty:
            subject["apiGroup"].invalid("a ServiceAccount is of the core group")
        if not namespaced:
            subject["namespace"].require()


def check_binding_change(binding: At, old: Json) -> None:
    """A binding grants one role for its lifetime: another role needs another binding."""
    binding["roleRef"].unchanged(old.get("roleRef"), "cannot change roleRef")
