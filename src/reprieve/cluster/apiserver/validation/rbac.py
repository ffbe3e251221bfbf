"""Are roles and their bindings valid?"""

from reprieve.cluster.api.decode_errors import described
from reprieve.cluster.api.names import dns_subdomain, path_segment
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_selector
from reprieve.model.json import Json

_GROUP = "rbac.authorization.k8s.io"
_OF_PEOPLE = ("User", "Group")
_LISTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


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
    for selector in selectors.items():
        _check_type(selector, dict)
        check_selector(selector)


def _check_rule(rule: At) -> None:
    for name in _LISTS:
        for item in rule[name].items():
            _check_type(item, str)
    rule["verbs"].require("must have at least one verb")
    if rule["nonResourceURLs"].empty:
        rule["apiGroups"].require("must have at least one group")
        rule["resources"].require("must have at least one resource")
    elif not (rule["apiGroups"].empty and rule["resources"].empty and rule["resourceNames"].empty):
        rule["nonResourceURLs"].invalid("must not stand beside apiGroups, resources or resourceNames")


def _check_type(item: At, kind: type) -> None:
    """An item of a list may not be null: readers of roles take only what is of its type."""
    if not isinstance(item.value, kind):
        example: object = kind()
        item.refuse(ErrorType.TYPE, f"expected {described(example)}, got {described(item.value)}")


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
    ref["name"].must_name(path_segment)
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
        subject["name"].must_be(dns_subdomain)
        if not namespaced:
            subject["namespace"].require()


def check_binding_change(binding: At, old: Json) -> None:
    """A binding grants one role for its lifetime: another role needs another binding."""
    binding["roleRef"].unchanged(old.get("roleRef"), "cannot change roleRef")
