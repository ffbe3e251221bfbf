"""Which fields of an object does a structural schema keep, what does it add, and what does it reject?

The schemas of CustomResourceDefinitions, as plain JSON. ``cel_rules`` evaluates ``x-kubernetes-validations``.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from reprieve.cluster.admission.cel_formats import SCHEMA_FORMATS
from reprieve.cluster.admission.cel_values import CostBudget, PatternError, Patterns
from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.api.merge_shapes import (
    ATOMIC,
    OBJECT_META,
    UNKNOWN,
    VALUE_SET,
    GranularMap,
    KeyedList,
    MergeShape,
)
from reprieve.cluster.api.timestamps import moment
from reprieve.cluster.api.values import part
from reprieve.model.json import Json

PRESERVE, EITHER = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"
KEYS = "x-kubernetes-list-map-keys"
_EMBEDDED, _LIST = "x-kubernetes-embedded-resource", "x-kubernetes-list-type"
_MAP = "x-kubernetes-map-type"
_HEAD = ("apiVersion", "kind", "metadata")
_COMPARED_PER_STEP = 32  # values that one comparison of the interpreter goes through
_BYTES_PER_STEP = 16  # of a default that is copied
# Equal only for equal values: 1 is neither "1" nor true.
_encode = msgspec.json.Encoder(order="sorted").encode

_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
}


def below(schema: Json, name: str) -> Json | None:
    """The schema of a field; None for an unknown field."""
    known = part(schema, "properties").get(name)
    if isinstance(known, dict):
        return known
    others = schema.get("additionalProperties")
    if isinstance(others, dict):
        return others
    return {PRESERVE: True} if others is True or schema.get(PRESERVE) is True else None


# --- keeping and adding ----------------------------------------------------------------------------


def without_unknown_fields(body: Json, schema: Json) -> tuple[Json, list[str]]:
    """An object without its unknown fields, and the paths of those."""
    dropped: list[str] = []
    head = {name: body[name] for name in _HEAD if name in body}
    rest = {name: value for name, value in body.items() if name not in _HEAD}
    return {**head, **_pruned(rest, schema, "", dropped)}, dropped


def _pruned(value: Any, schema: Json, path: str, dropped: list[str]) -> Any:
    match value:
        case dict():
            return _pruned_object(value, schema, path, dropped)
        case list():
            items = part(schema, "items") or {PRESERVE: schema.get(PRESERVE)}
            return [_pruned(one, items, f"{path}[{number}]", dropped) for number, one in enumerate(value)]
    return value


def _pruned_object(value: Json, schema: Json, path: str, dropped: list[str]) -> Json:
    kept: Json = {}
    for name, one in value.items():
        known, here = below(schema, name), f"{path}.{name}" if path else name
        if known is None:
            if schema.get(_EMBEDDED) is True and name in _HEAD:
                kept[name] = one
            else:
                dropped.append(here)
        elif one is not None or known.get("nullable") is True or known == {PRESERVE: True}:
            kept[name] = _pruned(one, known, here, dropped)
    return kept


# --- checking --------------------------------------------------------------------------------------


class SchemaCheck:
    """One request against its schema: fills in defaults, and collects what the schema rejects.

    Pays from a budget, since the size of a schema and that of a value multiply: a default for every item, a
    choice of a thousand schemas for every item. Raises CostError.
    """

    def __init__(self, budget: CostBudget) -> None:
        self._budget = budget
        self._patterns = Patterns()

    def defaulted(self, value: Any, schema: Json) -> Any:
        """The value with the defaults of the schema."""
        match value:
            case dict():
                whole = {**value, **self._missing(value, part(schema, "properties"))}
                return {name: self.defaulted(one, below(schema, name) or {}) for name, one in whole.items()}
            case list():
                known = part(schema, "items")
                return [self.defaulted(one, known) for one in value]
        return value

    def _missing(self, value: Json, properties: Json) -> Json:
        self._budget.spend(1 + len(properties) // _COMPARED_PER_STEP)
        found: Json = {}
        for name, known in properties.items():
            if isinstance(known, dict) and "default" in known and name not in value:
                self._budget.spend(1 + len(_encode(known["default"])) // _BYTES_PER_STEP)
                found[name] = deepcopy(known["default"])
        return found

    def check(self, at: At, schema: Json) -> None:
        self._budget.spend()
        if at.value is None or at.is_full:
            return
        if not _fits(at.value, schema):
            at.refuse(ErrorType.TYPE, f"must be of type {schema.get('type', 'integer or string')}")
            return
        self._check_enum(at, schema.get("enum"))
        match at.value:
            case dict():
                self._check_object(at, schema)
            case list():
                self._check_list(at, schema)
            case str():
                self._check_text(at, schema)
            case int() | float() if not isinstance(at.value, bool):
                _check_number(at, schema)
        self._check_combined(at, schema)

    def _check_enum(self, at: At, allowed: object) -> None:
        if not isinstance(allowed, list):
            return
        weight = len(_encode(at.value)) if isinstance(at.value, dict | list) else 1
        self._budget.spend(len(allowed) * weight // _COMPARED_PER_STEP)
        if at.value not in allowed:
            choices = ", ".join(f'"{choice}"' for choice in allowed)
            at.refuse(ErrorType.UNSUPPORTED, f"supported values: {choices}")

    def _check_object(self, at: At, schema: Json) -> None:
        required = schema.get("required") or ()
        self._budget.spend(len(required) // _COMPARED_PER_STEP)
        for name in required:
            if name not in at.value:
                at[name].refuse(ErrorType.REQUIRED, "must be given")
        _check_size(at, len(at.value), schema, "Properties", "fields")
        properties, others = part(schema, "properties"), schema.get("additionalProperties")
        for name in at.value:
            known = properties.get(name)
            if isinstance(known, dict):
                self.check(at[name], known)
            elif isinstance(others, dict):
                self.check(at.key(name), others)

    def _check_list(self, at: At, schema: Json) -> None:
        _check_size(at, len(at.value), schema, "Items", "items")
        known, keys = part(schema, "items"), _identity(schema)
        self._budget.spend(len(at.value) * len(keys or ()) // _COMPARED_PER_STEP)
        seen: set[bytes] = set()
        for item in at.items():
            self.check(item, known)
            if keys is None or (keys and not isinstance(item.value, dict)):
                continue
            mark = _encode([item.value.get(key) for key in keys] if keys else item.value)
            if mark in seen:
                item.refuse(ErrorType.DUPLICATE, "must be there once")
            seen.add(mark)

    def _check_text(self, at: At, schema: Json) -> None:
        _check_size(at, len(at.value), schema, "Length", "characters")
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and not self._matches(pattern, at.value):
            at.invalid(f"must match '{pattern}'")
        if schema.get("format") == "date-time" and not _is_moment(at.value):
            at.invalid("must be a time such as 2026-01-02T03:04:05Z")
        form = SCHEMA_FORMATS.get(str(schema.get("format")))
        if form is not None:
            at.must_be(form)

    def _matches(self, pattern: str, text: str) -> bool:
        try:
            return self._patterns.search(pattern, text, self._budget)
        except PatternError:
            return True  # of a definition that an earlier release stored: what it means is not known

    def check_pattern(self, at: At) -> None:
        try:
            self._patterns.get(at.value, self._budget)
        except PatternError as error:
            at.invalid(f"must be a regular expression in Go's syntax: {error}")

    def _check_combined(self, at: At, schema: Json) -> None:
        for one in schema.get("allOf") or ():
            self.check(at, one)
        any_of, one_of = schema.get("anyOf"), schema.get("oneOf")
        if any_of and not any(self._holds(at.value, one) for one in any_of):
            at.invalid("must hold to at least one of the schemas in anyOf")
        if one_of and sum(self._holds(at.value, one) for one in one_of) != 1:
            at.invalid("must hold to exactly one of the schemas in oneOf")
        if isinstance(schema.get("not"), dict) and self._holds(at.value, schema["not"]):
            at.invalid("must not hold to the schema in not")

    def _holds(self, value: Any, schema: Json) -> bool:
        trial = At(value)
        self.check(trial, schema)
        return not trial.errors


def _fits(value: object, schema: Json) -> bool:
    if schema.get(EITHER) is True:
        return isinstance(value, str) or type(value) is int
    kind = schema.get("type")
    return not isinstance(kind, str) or kind not in _TYPES or _TYPES[kind](value)


def _identity(schema: Json) -> list[str] | None:
    """The keys that tell items apart; none for items that differ as a whole, None if they may be equal."""
    match schema.get(_LIST):
        case "set":
            return []
        case "map":
            return list(schema.get(KEYS) or ()) or None
    return None


def _is_moment(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return "T" in text


def _check_number(at: At, schema: Json) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    if _is_number(least) and (at.value < least or (schema.get("exclusiveMinimum") and at.value == least)):
        at.invalid(f"must be {'greater than' if schema.get('exclusiveMinimum') else 'at least'} {least}")
    if _is_number(most) and (at.value > most or (schema.get("exclusiveMaximum") and at.value == most)):
        at.invalid(f"must be {'less than' if schema.get('exclusiveMaximum') else 'at most'} {most}")
    step = schema.get("multipleOf")
    if _is_number(step) and step and not _is_multiple(at.value, step):
        at.invalid(f"must be a multiple of {step}")
    bits = {"int32": 31, "int64": 63}.get(str(schema.get("format")))
    if bits and not -(1 << bits) <= at.value < 1 << bits:
        at.invalid(f"must be an integer of {bits + 1} bits")


def _is_multiple(value: float, step: float) -> bool:
    try:
        return value % step == 0
    except OverflowError:  # an integer beyond every float, and a step that is a float
        return False


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _check_size(at: At, size: int, schema: Json, of: str, what: str) -> None:
    least, most = schema.get(f"min{of}"), schema.get(f"max{of}")
    if type(least) is int and size < least:
        at.invalid(f"must have at least {least} {what}")
    if type(most) is int and size > most:
        reason = ErrorType.TOO_LONG if what == "characters" else ErrorType.TOO_MANY
        at.refuse(reason, f"must have at most {most} {what}, has {size}")


# --- sharing ---------------------------------------------------------------------------------------


def shape_in(schema: Json, *, is_root: bool = False) -> MergeShape:
    """How several field managers share what the schema describes."""
    match schema.get("type"):
        case "object":
            return _shape_of_object(schema, is_root=is_root)
        case "array":
            return _shape_of_list(schema)
    return UNKNOWN if schema.get(PRESERVE) is True else ATOMIC


def _shape_of_object(schema: Json, *, is_root: bool) -> MergeShape:
    if schema.get(_MAP) == "atomic":
        return ATOMIC

    def of_field(name: str) -> MergeShape:
        if is_root and name == "metadata":
            return OBJECT_META
        known = below(schema, name)
        return UNKNOWN if known is None or known == {PRESERVE: True} else shape_in(known)

    return GranularMap(of_field)


def _shape_of_list(schema: Json) -> MergeShape:
    items = part(schema, "items")
    match schema.get(_LIST):
        case "set":
            return VALUE_SET
        case "map":
            fields = part(items, "properties")
            keys = ((key, part(fields, key).get("default")) for key in schema.get(KEYS) or ())
            return KeyedList(tuple(keys), shape_in(items))
    return ATOMIC
