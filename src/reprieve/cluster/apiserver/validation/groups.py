"""Is a PodGroup, CompositePodGroup or Workload valid, spelled as in v1beta1 and v1alpha3 or as in v1alpha2?

The older spelling has three rules of its own: a group may have the priority of a system class, a basic
group cannot be disrupted as a whole, and templates of one workload may have different priorities.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.cluster.api.names import dns_label, dns_subdomain, label_key, path_segment
from reprieve.cluster.api.values import items, part, same, text_in
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_conditions
from reprieve.cluster.apiserver.validation.pods import PREEMPTION_POLICIES
from reprieve.model.json import Json

HIGHEST_USER_PRIORITY = 1_000_000_000

_LARGEST_INT32 = 2**31 - 1
_MOST_CLAIMS = 4
_MOST_TEMPLATES = 8
_DEEPEST_TEMPLATE = 4
_OLDER_MODES = ("Pod", "PodGroup")


@dataclass(frozen=True, slots=True)
class GroupSpelling:
    """How a version spells groups, and the limits that it sets."""

    older: bool = False
    minimum: str = "minCount"
    highest_priority: int = HIGHEST_USER_PRIORITY


NEWER = GroupSpelling()
COMPOSITE = GroupSpelling(minimum="minGroupCount")
OLDER = GroupSpelling(older=True, highest_priority=_LARGEST_INT32)


# --- groups --------------------------------------------------------------------------------------


def check_group(group: At) -> None:
    spec = group["spec"]
    if spec.require():
        _check_spec(spec, NEWER)
        _check_workload_ref(spec["workloadRef"])
        if spec["parentCompositePodGroupName"].given:
            spec["workloadRef"].require("must be given where parentCompositePodGroupName is")


def check_composite(group: At) -> None:
    spec = group["spec"]
    if spec.require():
        _check_spec(spec, COMPOSITE)
        spec["workloadRef"].require()
        _check_workload_ref(spec["workloadRef"])


def check_older_group(group: At) -> None:
    spec = group["spec"]
    if not spec.require():
        return
    _check_spec(spec, OLDER)
    ref = spec["podGroupTemplateRef"]
    if ref.is_object() and ref["workload"].require():
        ref["workload"]["workloadName"].must_name(dns_subdomain)
        ref["workload"]["podGroupTemplateName"].must_name(dns_label)


def _check_spec(spec: At, spelling: GroupSpelling) -> None:
    """The fields that groups and their templates share."""
    _check_policy(spec["schedulingPolicy"], spelling)
    if spelling.older:
        _check_older_mode(spec)
    elif spec["disruptionMode"].is_object():
        check_one_of(spec["disruptionMode"], ("single", "all"))
    topology = spec["schedulingConstraints"]["topology"]
    topology.at_most_items(1)
    for constraint in topology.items():
        constraint["key"].must_name(label_key)
    for field in ("priorityClassName", "parentCompositePodGroupName"):
        if not spec[field].empty:
            spec[field].must_be(dns_subdomain)
    spec["priority"].within(-_LARGEST_INT32 - 1, spelling.highest_priority)
    spec["preemptionPolicy"].one_of(PREEMPTION_POLICIES)
    _check_claims(spec["resourceClaims"])


def _check_policy(policy: At, spelling: GroupSpelling) -> None:
    if not policy.require("must have one of basic and gang"):
        return
    check_one_of(policy, ("basic", "gang"))
    minimum = policy["gang"][spelling.minimum]
    if policy["gang"].is_object():
        minimum.require()
        minimum.within(1, _LARGEST_INT32)


def check_one_of(union: At, members: tuple[str, ...]) -> None:
    given = [name for name in members if union[name].given]
    for name in given:
        union[name].is_object()
    if len(given) != 1:
        union.invalid(
            f"must have exactly one of {' and '.join(members)}, got {' and '.join(given) or 'none'}"
        )


def _check_older_mode(spec: At) -> None:
    """The field is in the spec, or in the policy as in the first version of the design."""
    modes = [
        mode for mode in (spec["disruptionMode"], spec["schedulingPolicy"]["disruptionMode"]) if mode.given
    ]
    for mode in modes:
        mode.one_of(_OLDER_MODES)
        if mode.value == "PodGroup" and spec["schedulingPolicy"]["basic"].given:
            mode.forbid(
                "must not be PodGroup for a basic group: what is scheduled pod by pod is disrupted so"
            )
    if len(modes) > 1:
        modes[1].forbid("must not be given in both places")


def _check_claims(claims: At) -> None:
    claims.at_most_items(_MOST_CLAIMS)
    names: set[str] = set()
    for claim in claims.items():
        claim["name"].must_name(dns_label)
        if claim["name"].text() in names:
            claim["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
        names.add(claim["name"].text())
        given = [n for n in ("resourceClaimName", "resourceClaimTemplateName") if claim[n].given]
        if len(given) != 1:
            claim.invalid("must have exactly one of resourceClaimName and resourceClaimTemplateName")


def _check_workload_ref(ref: At) -> None:
    if ref.is_object():
        ref["workloadName"].must_name(dns_subdomain)
        ref["templateName"].must_name(dns_label)


def check_group_change(group: At, old: Json) -> None:
    _check_spec_change(group["spec"], part(old, "spec"))


def check_composite_change(group: At, old: Json) -> None:
    spec, before = group["spec"], part(old, "spec")
    for field in sorted({*part(spec.value), *before}):
        if not same(spec[field].value, before.get(field)):
            spec[field].invalid("the field is immutable")


def _check_spec_change(spec: At, before: Json) -> None:
    """Every field is immutable except the number in a gang's policy."""
    for field in sorted({*part(spec.value), *before} - {"schedulingPolicy"}):
        if not same(spec[field].value, before.get(field)):
            spec[field].invalid("the field is immutable")
    policy, was = spec["schedulingPolicy"], part(before, "schedulingPolicy")
    for member in ("basic", "gang", "disruptionMode"):
        kept = policy[member].given == (member in was)
        if not kept or (member == "disruptionMode" and policy[member].value != was.get(member)):
            policy[member].invalid("the policy of a group cannot be changed for another")


def check_group_status(group: At, old: Json) -> None:
    check_conditions(group["status"]["conditions"])


# --- workloads -----------------------------------------------------------------------------------


def check_workload(workload: At) -> None:
    spec = workload["spec"]
    if not spec.require():
        return
    _check_controller(spec["controllerRef"])
    given = [field for field in _LISTS if not spec[field].empty]
    if len(given) != 1:
        spec.invalid(f"must have exactly one of {' and '.join(_LISTS)}")
    _check_templates(spec, NEWER, COMPOSITE, 1)
    _check_one_priority(spec)
    _check_names(spec)


def check_older_workload(workload: At) -> None:
    spec = workload["spec"]
    if not spec.require():
        return
    _check_controller(spec["controllerRef"])
    spec["podGroupTemplates"].require()
    _check_templates(spec, OLDER, OLDER, 1)
    _check_names(spec)


_LISTS = ("podGroupTemplates", "compositePodGroupTemplates")


def _check_controller(ref: At) -> None:
    if ref.is_object():
        ref["kind"].must_name(path_segment)
        ref["name"].must_name(path_segment)
        if not ref["apiGroup"].empty:
            ref["apiGroup"].must_be(dns_subdomain)


def _check_templates(parent: At, leaf: GroupSpelling, composite: GroupSpelling, depth: int) -> None:
    for field in _LISTS:
        parent[field].at_most_items(_MOST_TEMPLATES)
    for template in parent["podGroupTemplates"].items():
        template["name"].must_name(dns_label)
        _check_spec(template, leaf)
    for template in parent["compositePodGroupTemplates"].items():
        template["name"].must_name(dns_label)
        _check_spec(template, composite)
        if depth == _DEEPEST_TEMPLATE:
            template.invalid(f"must not be {_DEEPEST_TEMPLATE} levels deep")
        elif all(template[field].empty for field in _LISTS):
            template.invalid(f"must have at least one child in {' or '.join(_LISTS)}")
        else:
            _check_templates(template, leaf, composite, depth + 1)


def _all_templates(parent: At) -> Iterator[At]:
    yield from parent["podGroupTemplates"].items()
    for template in parent["compositePodGroupTemplates"].items():
        yield template
        yield from _all_templates(template)


def _check_one_priority(spec: At) -> None:
    priorities = [
        (text_in(template.value, "priorityClassName"), part(template.value).get("priority"))
        for template in _all_templates(spec)
    ]
    if any(priority != priorities[0] for priority in priorities):
        spec.invalid("all templates must have the same priorityClassName and priority")


def _check_names(spec: At) -> None:
    names: set[str] = set()
    for template in _all_templates(spec):
        if template["name"].text() in names:
            template["name"].refuse(ErrorType.DUPLICATE, "must be there only once in the workload")
        names.add(template["name"].text())


def check_workload_change(workload: At, old: Json) -> None:
    spec, before = workload["spec"], part(old, "spec")
    if not same(spec["controllerRef"].value, before.get("controllerRef")):
        spec["controllerRef"].invalid("the field is immutable")
    _check_template_changes(spec, before)


def _check_template_changes(parent: At, before: Json) -> None:
    for field in _LISTS:
        known = {text_in(template, "name"): template for template in items(before, field)}
        names = {text_in(template, "name") for template in items(parent.value, field)}
        if names != known.keys():
            parent[field].invalid("templates cannot be added or removed")
            continue
        for template in parent[field].items():
            was = known.get(template["name"].text(), {})
            _check_spec_change(_alone(template), {k: v for k, v in was.items() if k not in _LISTS})
            _check_template_changes(template, was)


def _alone(template: At) -> At:
    """A template without its children, which are compared one by one."""
    fields = {k: v for k, v in part(template.value).items() if k not in _LISTS}
    return At(fields, template.path, template.errors)
