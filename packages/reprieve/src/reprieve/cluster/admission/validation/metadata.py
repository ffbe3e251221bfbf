"""Are metadata valid (names, labels, annotations, owners, finalizers), and selectors and conditions?

The metadata that the server owns (uid, times, generation) are not checked.
"""

import msgspec

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import rule
from reprieve.cluster.api.names import (
    TextForm,
    annotation_key,
    before_suffix,
    dns_label,
    label_key,
    label_value,
)
from reprieve.cluster.api.values import texts
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector

_LARGEST_ANNOTATIONS = 256 * 1024
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
_STANDARD_FINALIZERS = (_ORPHAN, _FOREGROUND, "kubernetes")
_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")


def check_metadata(meta: At, form: TextForm, namespaced: bool, *, is_custom: bool = False) -> None:
    """``is_custom``: of a kind that a CustomResourceDefinition defines, whose finalizers need no domain."""
    name = meta["name"]
    if meta["generateName"].empty:
        name.require("must be given, or generateName instead")
    if not name.empty:
        name.must_be(form)
    if namespaced:
        meta["namespace"].must_name(dns_label)
    elif not meta["namespace"].empty:
        meta["namespace"].forbid("must not be given: objects of this kind belong to no namespace")
    check_notes(meta)
    _check_owners(meta["ownerReferences"])
    _check_finalizers(meta["finalizers"])
    plain = set() if is_custom else set(plain_finalizers(meta.value))
    for finalizer in meta["finalizers"].items() if plain else ():
        if finalizer.text() in plain:
            finalizer.invalid("must be prefixed with the domain that owns it, as in example.com/name")


def check_new_metadata(meta: At, form: TextForm) -> None:
    """generateName is checked on creation only: it has no effect later."""
    if not meta["generateName"].empty:
        meta["generateName"].must_be(before_suffix(form))


@rule
def check_notes(meta: At) -> None:
    """Labels and annotations, which templates have as well."""
    check_labels(meta["labels"])
    check_annotations(meta["annotations"])


@rule
def check_labels(labels: At) -> None:
    for key, value in labels.entries():
        labels.showing(key).must_be(label_key)
        if value.is_text():
            labels.showing(value.value).must_be(label_value)


def check_annotations(annotations: At) -> None:
    size = 0
    for key, value in annotations.entries():
        annotations.showing(key).must_be(annotation_key)
        size += len(key.encode()) + len(value.text().encode())
    if size > _LARGEST_ANNOTATIONS:
        annotations.refuse(
            ErrorType.TOO_LONG, f"must have no more than {_LARGEST_ANNOTATIONS} bytes in all, has {size}"
        )


def _check_owners(owners: At) -> None:
    controllers = 0
    for owner in owners.items():
        for field in ("apiVersion", "kind", "name", "uid"):
            owner[field].require()
            owner[field].is_text()
        if owner["apiVersion"].value == "v1" and owner["kind"].value == "Event":
            owner.invalid("an Event must not own anything")
        controllers += owner["controller"].flag()
    if controllers > 1:
        owners.invalid("must have at most one entry with controller: true")


def _check_finalizers(finalizers: At) -> None:
    for finalizer in finalizers.items():
        finalizer.must_be(label_key)
    if {_ORPHAN, _FOREGROUND} <= {finalizer.text() for finalizer in finalizers.items()}:
        finalizers.invalid(f"must not have both {_ORPHAN} and {_FOREGROUND}")


def plain_finalizers(meta: Json) -> list[str]:
    """Finalizers without the domain of their owner."""
    names = texts(meta, "finalizers")
    return [name for name in names if "/" not in name and name not in _STANDARD_FINALIZERS]


def check_metadata_change(meta: At, old: Json) -> None:
    for field in ("name", "namespace"):
        meta[field].unchanged(old.get(field))
    added = set(texts(meta.value, "finalizers")) - set(texts(old, "finalizers"))
    if "deletionTimestamp" in old and added:
        meta["finalizers"].forbid(f"must not gain {', '.join(sorted(added))}: the object is being deleted")


# --- selectors -----------------------------------------------------------------------------------


@rule
def check_label_expression(expression: At) -> None:
    check_expression(expression, _WITH_VALUES, _WITHOUT_VALUES)


def check_expression(
    expression: At,
    with_values: tuple[str, ...],
    without_values: tuple[str, ...],
    with_one: tuple[str, ...] = (),
    any_value: bool = False,
) -> None:
    operator, values = expression["operator"].text(), expression["values"]
    if operator in with_values:
        values.require(f"must have at least one entry where operator is {operator}")
    elif operator in with_one:
        if not values.is_list() or len(values.value) != 1:
            values.refuse(ErrorType.REQUIRED, f"must have exactly one entry where operator is {operator}")
    elif operator in without_values:
        if not values.empty:
            values.forbid(f"must not be given where operator is {operator}")
    else:
        allowed = ", ".join((*with_values, *without_values, *with_one))
        expression["operator"].invalid(f"must be one of {allowed}")
    expression["key"].must_name(label_key)
    for value in values.items():
        if value.is_text() and not any_value:
            value.must_be(label_value)


def selects(selector: object, labels: object) -> bool:
    """Whether a selector matches labels. A malformed one counts as matching: it is rejected elsewhere."""
    try:
        read = msgspec.convert(selector, LabelSelector)
        worn = msgspec.convert(labels, dict[str, str])
    except msgspec.ValidationError:
        return True
    unused = Problems(Ref(kind="", namespace="", name=""))
    return compile_selector(read, "", unused).matches(worn)
