"""Selectors, node affinity terms and tolerations, read straight from the objects."""

from collections.abc import Mapping

from reprieve.model.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeSelectorTerm,
    Taint,
    Toleration,
)

Labels = Mapping[str, str]


def meets(requirement: LabelSelectorRequirement, labels: Labels) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdecimal() and int(value) > int(requirement.values[0])
        case "Lt":
            return value is not None and value.isdecimal() and int(value) < int(requirement.values[0])
    raise ValueError(requirement.operator)


def selects(selector: LabelSelector | None, labels: Labels) -> bool:
    """An absent selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    exact = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exact and all(meets(r, labels) for r in selector.match_expressions)


def accepts(term: NodeSelectorTerm, node: Node) -> bool:
    """A term without any condition accepts no node."""
    conditions = [meets(r, node.metadata.labels) for r in term.match_expressions]
    conditions += [meets(r, {"metadata.name": node.metadata.name}) for r in term.match_fields]
    return bool(conditions) and all(conditions)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    effect_fits = toleration.effect in ("", taint.effect)
    key_fits = toleration.key in ("", taint.key)
    return effect_fits and key_fits and value_fits(toleration, taint)


def value_fits(toleration: Toleration, taint: Taint) -> bool:
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case "Lt":
            return taint.value.isdecimal() and int(taint.value) < int(toleration.value)
        case "Gt":
            return taint.value.isdecimal() and int(taint.value) > int(toleration.value)
    raise ValueError(toleration.operator)
