"""What must hold for a CustomResourceDefinition, and for the schemas in it."""

from reprieve.cluster.api.fields import At, Reason
from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.structural import EITHER, PRESERVE, check_value, compiled
from reprieve.cluster.api.values import Json, name_of, part

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_STRUCTURAL = ("$ref", "definitions", "dependencies", "deprecated", "id", "patternProperties", "readOnly")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_LIST_TYPES = ("atomic", "map", "set")


def check_definition(thing: At) -> None:
    spec = thing["spec"]
    if not spec.require() or not spec.is_object():
        return
    spec["group"].must_name(dns_subdomain)
    if "." not in (spec["group"].value or "."):
        spec["group"].invalid("must have a dot in it, as in example.com")
    spec["scope"].require()
    spec["scope"].one_of(("Cluster", "Namespaced"))
    spec["preserveUnknownFields"].showing(spec["preserveUnknownFields"].flag() or None).unchanged(
        None, "must be false: x-kubernetes-preserve-unknown-fields in the schema does the same"
    )
    spec["conversion"]["strategy"].one_of(("None",))
    _check_names(spec)
    wanted = f"{spec['names']['plural'].value}.{spec['group'].value}"
    if name_of(thing.value) != wanted:
        thing["metadata"]["name"].invalid(f"must be spec.names.plural and spec.group: {wanted}")
    _check_versions(spec["versions"])


def _check_names(spec: At) -> None:
    names = spec["names"]
    names["plural"].must_name(dns_label)
    names["singular"].must_be(dns_label)
    if names["kind"].require() and names["kind"].is_text():
        names["kind"].showing(names["kind"].value.lower()).must_be(dns_label)
    for field in ("shortNames", "categories"):
        for name in names[field].items() if names[field].given else ():
            name.must_be(dns_label)


def check_definition_change(thing: At, old: Json) -> None:
    spec, before = thing["spec"], part(old, "spec")
    spec["group"].unchanged(before.get("group"))
    spec["scope"].unchanged(before.get("scope"))
    spec["names"]["plural"].unchanged(part(before, "names").get("plural"))
    spec["names"]["kind"].unchanged(part(before, "names").get("kind"))


# --- versions --------------------------------------------------------------------------------------


def _check_versions(versions: At) -> None:
    if not versions.require():
        return
    seen: set[str] = set()
    stored = 0
    for version in versions.items():
        name = version["name"]
        name.must_name(dns_label)
        if name.value in seen:
            name.refuse(Reason.DUPLICATE, "must be there once")
        seen.add(str(name.value))
        stored += version["storage"].flag()
        _check_version(version)
    if stored != 1:
        versions.invalid(f"must have exactly one version with storage: true, has {stored}")


def _check_version(version: At) -> None:
    schema = version["schema"]["openAPIV3Schema"]
    if schema.require() and schema.is_object():
        if schema["type"].value != "object":
            schema["type"].showing(schema["type"].value or "").invalid("must be object at the root")
        _check_schema(schema)
    for column in (
        version["additionalPrinterColumns"].items() if version["additionalPrinterColumns"].given else ()
    ):
        column["name"].require()
        column["type"].require()
        column["type"].one_of(_COLUMN_TYPES)
        if column["jsonPath"].require() and not column["jsonPath"].text().startswith("."):
            column["jsonPath"].invalid("must begin with a dot")


def _check_schema(schema: At) -> None:
    """Whether it is structural, and can be followed."""
    kind = schema["type"]
    if not kind.given and not (schema[EITHER].value or schema[PRESERVE].value):
        kind.refuse(Reason.REQUIRED, "must be given")
    kind.one_of(_TYPES)
    for name in _NOT_STRUCTURAL:
        if schema[name].given:
            schema[name].forbid("must not be in a structural schema")
    pattern = schema["pattern"]
    if pattern.given and pattern.is_text() and compiled(pattern.value) is None:
        pattern.invalid("must be a regular expression")
    schema["x-kubernetes-list-type"].one_of(_LIST_TYPES)
    if kind.value == "array":
        schema["items"].require()
    _check_lists(schema)
    _check_below(schema)
    if schema["default"].given and not schema.errors:
        check_value(schema["default"], schema.value)


def _check_lists(schema: At) -> None:
    for name in ("required", "enum", "allOf", "anyOf", "oneOf", "x-kubernetes-list-map-keys"):
        if schema[name].given:
            schema[name].is_list()
    for name in ("required", "x-kubernetes-list-map-keys"):
        for one in schema[name].items() if schema[name].given else ():
            if one.require():
                one.is_text()
    for name in ("allOf", "anyOf", "oneOf"):
        for one in schema[name].items() if schema[name].given else ():
            one.is_object()
    for name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"):
        if schema[name].given:
            schema[name].at_least(0)
    if schema["x-kubernetes-list-type"].value == "map":
        schema["x-kubernetes-list-map-keys"].require()


def _check_below(schema: At) -> None:
    if schema["properties"].given:
        for _, one in schema["properties"].entries():
            if one.is_object():
                _check_schema(one)
    if schema["items"].given and schema["items"].is_object():
        _check_schema(schema["items"])
    others = schema["additionalProperties"]
    if others.given and not isinstance(others.value, bool) and others.is_object():
        _check_schema(others)
