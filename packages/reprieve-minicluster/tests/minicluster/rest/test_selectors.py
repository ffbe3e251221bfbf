"""Selectors in a URL."""

import pytest

from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.rest.selection import all_hold, field_requirements, label_requirements

LABELS = {"app": "web", "tier": "front", "rank": "7", "example.com/team": "a"}


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier = front", True),
        ("app=web,tier=back", False),
        ("app!=web", False),
        ("colour!=red", True),
        ("app in (api, web)", True),
        ("app in (api)", False),
        ("app notin (api)", True),
        ("colour notin (red)", True),
        ("colour in ()", False),
        ("app", True),
        ("colour", False),
        ("!colour", True),
        ("! app", False),
        ("rank>6", True),
        ("rank<7", False),
        ("app>1", False),
        ("example.com/team=a,!example.com/other", True),
        ("app=", False),
    ],
)
def test_labels(selector: str, holds: bool) -> None:
    assert all_hold(label_requirements(selector), LABELS) is holds


@pytest.mark.parametrize(
    "selector",
    [
        ",",
        "app=web,",
        "app=web,,tier=front",
        "=web",
        "app in web",
        "app in (web",
        "app(web)",
        "app=we b",
        "app=-web",
        "-app=web",
        "a/b/c=d",
        "rank>many",
        "app<>web",
        "app=" + "x" * 64,
        "!",
    ],
)
def test_malformed_label_selectors(selector: str) -> None:
    with pytest.raises(ApiError, match="label selector") as error:
        label_requirements(selector)
    assert error.value.status == 400


@pytest.mark.parametrize(
    ("selector", "holds"),
    [
        ("spec.nodeName=n1", True),
        ("spec.nodeName!=n1", False),
        ("spec.nodeName==n1,status.phase=Running", True),
        (r"note=a\,b\=c", True),
    ],
)
def test_fields(selector: str, holds: bool) -> None:
    found = {"spec.nodeName": "n1", "status.phase": "Running", "note": "a,b=c"}
    assert all_hold(field_requirements(selector), found) is holds


@pytest.mark.parametrize("selector", ["spec.nodeName", "=n1", "a=b=c", "a>b", "a in (b)"])
def test_malformed_field_selectors(selector: str) -> None:
    with pytest.raises(ApiError, match="field selector"):
        field_requirements(selector)
