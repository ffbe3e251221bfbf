"""Is a PodGroup, CompositePodGroup or Workload valid, spelled as in v1beta1 and v1alpha3 or as in v1alpha2?

The older spelling has three rules of its own: a group may have the priority of a system class, a basic
group cannot be disrupted as a whole, and templates of one workload may have different priorities.
"""

from collections.abc import Iterator

from reprieve.cluster.admission.field_errors import At
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.api.values import items, means_the_same, part, text_in
from reprieve.model.json import Json

HIGHEST_USER_PRIORITY = 1_000_000_000

_MOST_TEMPLATES = 8
_DEEPEST_TEMPLATE = 4
_OLDER_MODES = ("Pod", "PodGroup")
_LISTS = ("podGroupTemplates", "compositePodGroupTemplates")


# --- groups --------------------------------------------------------------------------------------


@rule
def check_parent(spec: At) -> None:
    if spec["parentCompositePodGroupName"].given:
        spec["workloadRef"].require("must be given where parentCompositePodGroupName is")


@rule
def check_workload_of_composite(spec: At) -> None:
    spec["workloadRef"].require()
    if spec["workloadRef"].is_object():
        check_marks(spec["workloadRef"], "WorkloadReference")


@rule
def check_older_mode(spec: At) -> None:
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


@rule
def check_one_claim(claim: At) -> None:
    given = [n for n in ("resourceClaimName", "resourceClaimTemplateName") if claim[n].given]
    if len(given) != 1:
        claim.invalid("must have exactly one of resourceClaimName and resourceClaimTemplateName")


@rule
def check_no_field_changed(spec: At, old: object) -> None:
    before = part(old)
    for field in sorted({*part(spec.value), *before}):
        if not means_the_same(spec[field].value, before.get(field)):
            spec[field].invalid("the field is immutable")


@rule
def check_group_change(spec: At, old: object) -> None:
    """Every field is immutable except the number in a gang's policy."""
    before = part(old)
    for field in sorted({*part(spec.value), *before} - {"schedulingPolicy"}):
        if not means_the_same(spec[field].value, before.get(field)):
            spec[field].invalid("the field is immutable")
    policy, was = spec["schedulingPolicy"], part(before, "schedulingPolicy")
    for member in ("basic", "gang", "disruptionMode"):
        kept = policy[member].given == (member in was)
        if not kept or (member == "disruptionMode" and policy[member].value != was.get(member)):
            policy[member].invalid("the policy of a group cannot be changed for another")


# --- workloads -----------------------------------------------------------------------------------


@rule
def check_templates(spec: At) -> None:
    given = [field for field in _LISTS if not spec[field].empty]
    if len(given) != 1:
        spec.invalid(f"must have exactly one of {' and '.join(_LISTS)}")
    _check_templates(spec, "PodGroupTemplate", "CompositePodGroupTemplate", 1)
    _check_one_priority(spec)
    _check_names(spec)


@rule
def check_older_templates(spec: At) -> None:
    _check_templates(spec, "OlderPodGroupTemplate", "OlderPodGroupTemplate", 1)
    _check_names(spec)


def _check_templates(parent: At, leaf: str, composite: str, depth: int) -> None:
    for field in _LISTS:
        parent[field].at_most_items(_MOST_TEMPLATES)
    for template in parent["podGroupTemplates"].items():
        check_marks(template, leaf)
    for template in parent["compositePodGroupTemplates"].items():
        check_marks(template, composite)
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
    for template in _all_templates(spec):
        name = template["name"]
        name.once("templates", name.text(), "must be there only once in the workload")


@rule
def check_workload_change(spec: At, old: object) -> None:
    before = part(old)
    if not means_the_same(spec["controllerRef"].value, before.get("controllerRef")):
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
            check_group_change(_alone(template), {k: v for k, v in was.items() if k not in _LISTS})
            _check_template_changes(template, was)


def _alone(template: At) -> At:
    """A template without its children, which are compared one by one."""
    fields = {k: v for k, v in part(template.value).items() if k not in _LISTS}
    return At(fields, template.path, template.errors)
