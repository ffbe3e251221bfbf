"""CEL rules of a definition: evaluated where supported, with a warning where not."""

from copy import deepcopy

import pytest
import yaml
from tests.minicluster.rest.api_client import MERGE, ApiClient
from tests.minicluster.rest.custom_resource import DEFINITIONS, QUEUES, definition

from reprieve.model.json import Json
from tests.architecture.source import ROOT

OURS = ROOT / "deploy" / "crds" / "podgroups.yaml"


def _ruled(*rules: Json, path: tuple[str, ...] = ("spec",)) -> Json:
    body = deepcopy(definition())
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for step in path:
        schema = schema["items"] if step == "items" else schema["properties"][step]
    schema["x-kubernetes-validations"] = list(rules)
    return body


def _queue(**spec: object) -> Json:
    return {"metadata": {"name": "q"}, "spec": {"size": 1, **spec}}


def test_what_a_definition_need_not_say(client: ApiClient) -> None:
    body = definition()
    del body["spec"]["names"]["singular"]
    spec = client.post(DEFINITIONS, body)["spec"]
    assert (spec["names"]["singular"], spec["names"]["listKind"]) == ("queue", "QueueList")
    assert spec["conversion"] == {"strategy": "None"}


def test_a_rule_is_followed(client: ApiClient) -> None:
    client.post(DEFINITIONS, _ruled({"rule": "self.size < 10 || has(self.code)", "message": "name a code"}))
    status, _, told = client.refused("POST", QUEUES, _queue(size=10))
    assert (status, told) == (422, 'Queue "q" is invalid: spec: Invalid value: an object: name a code')
    client.post(QUEUES, _queue(size=10, code="abc"))


def test_a_rule_about_a_change(client: ApiClient) -> None:
    rule = {"rule": "self.size >= oldSelf.size", "message": "no shrinking", "fieldPath": ".size"}
    client.post(DEFINITIONS, _ruled(rule))
    client.post(QUEUES, _queue(size=5))
    client.patch(f"{QUEUES}/q", {"spec": {"size": 6}})
    status, _, told = client.refused("PATCH", f"{QUEUES}/q", {"spec": {"size": 4}}, content_type=MERGE)
    assert (status, "spec.size: Invalid value: 4: no shrinking" in told) == (422, True)


def test_a_rule_may_word_its_message(client: ApiClient) -> None:
    rule = {
        "rule": "self.size < 10",
        "message": "not used",
        "messageExpression": "'%d is %d too many'.format([self.size, self.size - 9])",
        "fieldPath": ".labels['a.b']",
    }
    client.post(DEFINITIONS, _ruled(rule))
    _, _, told = client.refused("POST", QUEUES, _queue(size=12))
    assert told.endswith("spec.labels.a.b: Invalid value: null: 12 is 3 too many")
    rule["messageExpression"] = "self.code"  # which is not there
    client.patch(f"{DEFINITIONS}/{definition()['metadata']['name']}", {"spec": _ruled(rule)["spec"]})
    assert client.refused("POST", QUEUES, _queue(size=12))[2].endswith("not used")


def test_a_rule_may_hold_for_new_objects_and_changes(client: ApiClient) -> None:
    rule = {"rule": "oldSelf.?size.orValue(5) >= self.size", "optionalOldSelf": True}
    client.post(DEFINITIONS, _ruled(rule))
    assert client.refused("POST", QUEUES, _queue(size=6))[0] == 422
    client.post(QUEUES, _queue(size=5))
    assert client.refused("PATCH", f"{QUEUES}/q", {"spec": {"size": 6}}, content_type=MERGE)[0] == 422
    client.patch(f"{QUEUES}/q", {"spec": {"size": 4}})


def test_values_have_the_types_of_their_schemas(client: ApiClient) -> None:
    body = _ruled(
        {"rule": "self.share / 2.0 == 1.5 && self.since.getFullYear() == 2026"},
        {"rule": "self.wait > duration('1m') && string(self.data) == 'abc' && self.wait > oldSelf.wait"},
    )
    formats = {"since": "date-time", "wait": "duration", "data": "byte"}
    properties = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties |= {name: {"type": "string", "format": found} for name, found in formats.items()}
    properties["share"] = {"type": "number"}
    client.post(DEFINITIONS, body)
    typed = {"share": 3, "since": "2026-01-02T03:04:05Z", "wait": "2m", "data": "YWJj"}
    client.post(QUEUES, _queue(**typed))
    client.patch(f"{QUEUES}/q", {"spec": {"wait": "130s"}})
    assert client.refused("PATCH", f"{QUEUES}/q", {"spec": {"wait": "1m"}}, content_type=MERGE)[0] == 422


def test_items_are_known_by_their_keys(client: ApiClient) -> None:
    rule = {"rule": "self.weight >= oldSelf.weight", "message": "no less"}
    client.post(DEFINITIONS, _ruled(rule, path=("spec", "rules", "items")))
    client.post(QUEUES, _queue(rules=[{"name": "a", "weight": 2.0}]))
    client.patch(
        f"{QUEUES}/q", {"spec": {"rules": [{"name": "b", "weight": 1.0}, {"name": "a", "weight": 3.0}]}}
    )
    less = {"spec": {"rules": [{"name": "b", "weight": 1.0}, {"name": "a", "weight": 1.0}]}}
    _, _, told = client.refused("PATCH", f"{QUEUES}/q", less, content_type=MERGE)
    assert "spec.rules[1]" in told


def test_earlier_violations_do_not_block_an_update(client: ApiClient) -> None:
    client.post(DEFINITIONS, _ruled())
    client.post(QUEUES, _queue(size=50))
    stricter = {"spec": _ruled({"rule": "self.size < 10"})["spec"]}
    client.patch(f"{DEFINITIONS}/{definition()['metadata']['name']}", stricter)
    client.patch(f"{QUEUES}/q", {"metadata": {"labels": {"a": "b"}}})
    assert client.refused("PATCH", f"{QUEUES}/q", {"spec": {"size": 51}}, content_type=MERGE)[0] == 422


def test_a_rule_that_fails_is_named(client: ApiClient) -> None:
    client.post(DEFINITIONS, _ruled({"rule": "self.code.startsWith('a')"}))
    _, _, told = client.refused("POST", QUEUES, _queue())
    assert "no such key: code" in told


def test_an_unsupported_rule_causes_a_warning(client: ApiClient) -> None:
    answer = client.ask("POST", DEFINITIONS, _ruled({"rule": "quota(self.code)"}))
    assert answer.status == 201
    assert "kept and not followed: the function quota" in answer.headers["Warning"]
    client.post(QUEUES, _queue())


@pytest.mark.parametrize(
    "rule",
    ["has(" * 1200, "9" * 4900 + " > 1", "(" * 99 + "true" + ")" * 99],
    ids=["has", "digits", "brackets"],
)
def test_a_rule_beyond_the_limits_of_the_parser_is_refused(client: ApiClient, rule: str) -> None:
    status, _, told = client.refused("POST", DEFINITIONS, _ruled({"rule": rule}))
    assert (status, "must be a rule within the limits of the parser" in told) == (422, True)


@pytest.mark.parametrize(
    "rule",
    [
        "!" * 4900 + "true",
        "1" + "+1" * 2000 + " == 2001",
        "self" + ".a" * 2000 + " == 1 || true",
        "size(self, self) == 2",
        "self.code.split('') == ['a', 'b']",
    ],
    ids=lambda rule: rule[:12],
)
def test_an_unusual_rule_is_followed_or_warned_of(client: ApiClient, rule: str) -> None:
    answer = client.ask("POST", DEFINITIONS, _ruled({"rule": rule}))
    assert (answer.status, "Warning" in answer.headers) == (201, "size(" in rule)
    client.post(QUEUES, _queue(code="ab"))


@pytest.mark.parametrize(
    "step", ["[self].all(x, {})", "[[self]].all(x, has({}.size) || true)", "({} ? 1 : 2) == 1"]
)
def test_the_deepest_rule_in_the_deepest_schema(client: ApiClient, step: str) -> None:
    """Parser and evaluation recurse on top of whatever goes through the schema and the object."""
    rule = "true"
    for _ in range(18):
        rule = step.format(rule)
    schema: Json = {"type": "string", "pattern": "(" * 50 + "a" + ")" * 50}
    value: object = "a"
    for _ in range(42):
        schema = {"type": "object", "properties": {"a": schema}, "x-kubernetes-validations": [{"rule": rule}]}
        value = {"a": value}
    body = _ruled()
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
    answer = client.ask("POST", DEFINITIONS, body)
    assert answer.status == 201, answer.body
    client.post(QUEUES, {"metadata": {"name": "q"}, "spec": value})


def test_rules_that_cost_too_much_refuse_the_object(client: ApiClient) -> None:
    nested = "self.users.all(a, self.users.all(b, self.users.all(c, self.users.all(d, a + b + c + d != ''))))"
    body = _ruled({"rule": nested})
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["users"] = {
        "type": "array",
        "items": {"type": "string"},
    }
    client.post(DEFINITIONS, body)
    client.post(QUEUES, _queue(users=["a", "b"]))
    many = {**_queue(users=[str(i) for i in range(100)]), "metadata": {"name": "many"}}
    status, _, told = client.refused("POST", QUEUES, many)
    assert (status, "exceeds the cost budget of 100000 steps" in told) == (422, True)


@pytest.mark.parametrize(
    "change",
    [{"priority": 7}, {"disruptionMode": {"all": {}}}, {"schedulingPolicy": {"gang": None, "basic": {}}}],
)
def test_our_own_definition_keeps_what_may_not_change(client: ApiClient, change: Json) -> None:
    body = yaml.safe_load(OURS.read_text())
    answer = client.ask("POST", DEFINITIONS, body)
    assert (answer.status, answer.headers) == (201, {})
    spec = body["spec"]
    groups = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/namespaces/default/podgroups"
    client.post(groups, {"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})
    client.patch(f"{groups}/g", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}})
    status, _, told = client.refused("PATCH", f"{groups}/g", {"spec": change}, content_type=MERGE)
    assert (status, "cannot" in told) == (422, True)
