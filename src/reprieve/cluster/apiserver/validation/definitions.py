"""Is a CustomResourceDefinition valid, with the schemas in it?"""

from collections.abc import Callable

from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.values import name_of, part
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.structural_schemas import EITHER, PRESERVE, check_value, compiled
from reprieve.model.json import Json

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_STRUCTURAL = ("$ref", "definitions", "dependencies", "deprecated", "id", "patternProperties", "readOnly")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_LIST_TYPES = ("atomic", "map", "set")
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


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
        for name in names[field].items():
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
            name.refuse(ErrorType.DUPLICATE, "must be there once")
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
    for column in version["additionalPrinterColumns"].items():
        column["name"].require()
        column["type"].require()
        column["type"].one_of(_COLUMN_TYPES)
        if column["jsonPath"].require() and not column["jsonPath"].text().startswith("."):
            column["jsonPath"].invalid("must begin with a dot")


def _check_schema(schema: At) -> None:
    """Checks that the schema is structural, and can be enforced."""
    kind = schema["type"]
    if not kind.given and not (schema[EITHER].value or schema[PRESERVE].value):
        kind.refuse(ErrorType.REQUIRED, "must be given")
    for name in _NOT_STRUCTURAL:
        if schema[name].given:
            schema[name].forbid("must not be in a structural schema")
    if kind.value == "array":
        schema["items"].require()
    if schema["x-kubernetes-list-type"].value == "map":
        schema["x-kubernetes-list-map-keys"].require()
    _check_rules(schema, _check_schema)
    if schema["default"].given and not schema.errors:
        check_value(schema["default"], schema.value)


def _check_part(schema: At) -> None:
    """A schema within allOf and the like adds rules to another, and need not be structural itself."""
    _check_rules(schema, _check_part)


def _check_rules(schema: At, below: Callable[[At], None]) -> None:
    """Checks the arguments of a schema's rules. ``below`` checks the schemas below."""
    schema["type"].one_of(_TYPES)
    schema["x-kubernetes-list-type"].one_of(_LIST_TYPES)
    pattern = schema["pattern"]
    if pattern.is_text() and compiled(pattern.value) is None:
        pattern.invalid("must be a regular expression")
    for name in _SIZES:
        schema[name].at_least(0)
    for name in ("required", "x-kubernetes-list-map-keys"):
        for one in schema[name].items():
            if one.require():
                one.is_text()
    schema["enum"].is_list()
    for _, one in schema["properties"].entries():
        _look_into(one, below)
    _look_into(schema["items"], below)
    if not isinstance(schema["additionalProperties"].value, bool):
        _look_into(schema["additionalProperties"], below)
    for name in ("allOf", "anyOf", "oneOf"):
        for one in schema[name].items():
            if one.given:
                _look_into(one, _check_part)
            else:
                one.refuse(ErrorType.REQUIRED, "must be given")
    _look_into(schema["not"], _check_part)


def _look_into(schema: At, look: Callable[[At], None]) -> None:
    if schema.is_object():
        look(schema)
