"""The selectors of a request; one that cannot be parsed makes it a bad request."""

from reprieve.cluster.api import selector_text
from reprieve.cluster.api.selector_text import (
    SelectorOperator,
    SelectorRequirement,
    SelectorRequirements,
    SelectorSyntaxError,
    all_hold,
)
from reprieve.cluster.mini.errors import bad_request

__all__ = [
    "SelectorOperator",
    "SelectorRequirement",
    "SelectorRequirements",
    "all_hold",
    "field_requirements",
    "label_requirements",
]


def label_requirements(text: str) -> SelectorRequirements:
    try:
        return selector_text.label_requirements(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from error


def field_requirements(text: str) -> SelectorRequirements:
    try:
        return selector_text.field_requirements(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from error
