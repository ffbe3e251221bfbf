"""Which rules in CEL (``x-kubernetes-validations``) of a definition does an object break?

A rule that cannot be parsed is not enforced; the client that writes the definition gets a warning.
"""

from collections.abc import Iterator
from functools import lru_cache

from reprieve.cluster.api.values import items, part, text_in
from reprieve.cluster.apiserver.cel import Eval, Scope, SenselessError, UnreadError, read
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.structural_schemas import below
from reprieve.model.json import Json

RULES = "x-kubernetes-validations"
_BEFORE = "oldSelf"
_REASONS = {
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}


def check_rules(at: At, schema: Json, old: object = None) -> None:
    """``old``: the stored value, or None. A value that has not changed is not checked again."""
    value = at.value
    if value is None or value == old:
        return
    for rule in items(schema, RULES):
        _check(at, rule, old)
    match value:
        case dict():
            for name in value:
                known = below(schema, name)
                if known is not None:
                    check_rules(at[name], known, old.get(name) if isinstance(old, dict) else None)
        case list():
            for item in at.items():
                check_rules(item, part(schema, "items"), _before(item.value, schema, old))


def _before(item: object, schema: Json, old: object) -> object:
    """The stored item for a new one is known only in lists whose items have keys."""
    keys = schema.get("x-kubernetes-list-map-keys")
    if not isinstance(item, dict) or not isinstance(old, list) or not isinstance(keys, list):
        return None
    same = (one for one in old if isinstance(one, dict) and all(one.get(k) == item.get(k) for k in keys))
    return next(same, None)


def _check(at: At, rule: Json, old: object) -> None:
    text = text_in(rule, "rule")
    found = _read(text)
    if isinstance(found, str) or (_BEFORE in text and old is None):
        return
    try:
        holds = found(Scope({"self": at.value, _BEFORE: old}))
    except SenselessError as error:
        at.invalid(f"the rule {text} fails: {error}")
        return
    if holds is not True:
        sentence = text_in(rule, "message") or f"failed rule: {text}"
        _place(at, rule).refuse(_REASONS.get(text_in(rule, "reason"), ErrorType.INVALID), sentence)


def _place(at: At, rule: Json) -> At:
    """A rule may name a field below as the one in error."""
    for step in text_in(rule, "fieldPath").split("."):
        if step:
            at = at[step]
    return at


@lru_cache(maxsize=512)
def _read(rule: str) -> Eval | str:
    """The parsed rule, or why it cannot be parsed."""
    try:
        return read(rule, ("self", _BEFORE))
    except UnreadError as error:
        return str(error)


def unread_rules(definition: Json) -> Iterator[str]:
    """A sentence for each rule of a definition that is not enforced."""
    for version in items(part(definition, "spec"), "versions"):
        for rule in _rules_below(part(version, "schema", "openAPIV3Schema")):
            why = _read(rule)
            if isinstance(why, str):
                yield f"the rule {rule} is kept and not followed: {why}"


def _rules_below(schema: Json) -> Iterator[str]:
    for rule in items(schema, RULES):
        yield text_in(rule, "rule")
    known = part(schema, "properties")
    under = [*known.values(), schema.get("items"), schema.get("additionalProperties")]
    for one in under:
        if isinstance(one, dict):
            yield from _rules_below(one)
