"""Is a CustomResourceDefinition valid, with the schemas in it?

What patterns, rules and defaults cost is limited here already, so that no object has to pay for them.
"""

from collections.abc import Callable

from reprieve.cluster.admission.cel import RuleLimitError
from reprieve.cluster.admission.cel_rules import MESSAGE, PARSING_STEPS, RULES, parsed_rule
from reprieve.cluster.admission.cel_values import CostBudget, CostError
from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import check_marks, rule
from reprieve.cluster.admission.structural_schemas import EITHER, KEYS, PRESERVE, SchemaCheck
from reprieve.cluster.api.names import dns_label, dns_subdomain
from reprieve.cluster.api.values import name_of

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_NOT_STRUCTURAL = ("$ref", "definitions", "dependencies", "deprecated", "id", "patternProperties", "readOnly")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_LIST_TYPES = ("atomic", "map", "set")
_DEFINITION_STEPS = 500_000  # for the patterns, rules and defaults of one definition
_SIZES = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")


@rule
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
    check_marks(spec["conversion"], "CustomResourceConversion")
    _check_names(spec)
    wanted = f"{spec['names']['plural'].value}.{spec['group'].value}"
    if name_of(thing.value) != wanted:
        thing["metadata"]["name"].invalid(f"must be spec.names.plural and spec.group: {wanted}")
    budget = CostBudget(_DEFINITION_STEPS, "the cost of all patterns, rules and defaults")
    try:
        _check_versions(spec["versions"], _Schemas(budget))
    except CostError as error:
        spec["versions"].forbid(str(error))


def _check_names(spec: At) -> None:
    names = spec["names"]
    names["plural"].must_name(dns_label)
    names["singular"].must_be(dns_label)
    if names["kind"].require() and names["kind"].is_text():
        names["kind"].showing(names["kind"].value.lower()).must_be(dns_label)
    for field in ("shortNames", "categories"):
        for name in names[field].items():
            name.must_be(dns_label)


# --- versions --------------------------------------------------------------------------------------


def _check_versions(versions: At, schemas: "_Schemas") -> None:
    if not versions.require():
        return
    stored = 0
    for version in versions.items():
        name = version["name"]
        name.must_name(dns_label)
        name.once("versions", str(name.value), "must be there once")
        stored += version["storage"].flag()
        _check_version(version, schemas)
    if stored != 1:
        versions.invalid(f"must have exactly one version with storage: true, has {stored}")


def _check_version(version: At, schemas: "_Schemas") -> None:
    schema = version["schema"]["openAPIV3Schema"]
    if schema.require() and schema.is_object():
        if schema["type"].value != "object":
            schema["type"].showing(schema["type"].value or "").invalid("must be object at the root")
        schemas.check(schema)
    for column in version["additionalPrinterColumns"].items():
        column["name"].require()
        column["type"].require()
        column["type"].one_of(_COLUMN_TYPES)
        if column["jsonPath"].require() and not column["jsonPath"].text().startswith("."):
            column["jsonPath"].invalid("must begin with a dot")


class _Schemas:
    """The schemas of one definition: patterns, rules and defaults are paid from one budget."""

    def __init__(self, budget: CostBudget) -> None:
        self._budget = budget
        self._values = SchemaCheck(budget)

    def check(self, schema: At) -> None:
        """Checks that the schema is structural, and can be enforced."""
        kind = schema["type"]
        if not kind.given and not (schema[EITHER].value or schema[PRESERVE].value):
            kind.refuse(ErrorType.REQUIRED, "must be given")
        for name in _NOT_STRUCTURAL:
            if schema[name].given:
                schema[name].forbid("must not be in a structural schema")
        if schema["uniqueItems"].value is True:
            schema["uniqueItems"].forbid("must not be true: x-kubernetes-list-type: set does the same")
        if kind.value == "array":
            schema["items"].require()
        if schema["x-kubernetes-list-type"].value == "map":
            schema[KEYS].require()
        self._check_arguments(schema, self.check)
        if schema["default"].given and not schema.errors:
            self._values.check(schema["default"], schema.value)

    def _check_part(self, schema: At) -> None:
        """A schema within allOf and the like adds rules to another, and need not be structural itself."""
        self._check_arguments(schema, self._check_part)

    def _check_arguments(self, schema: At, below: Callable[[At], None]) -> None:
        """Checks the arguments of a schema's keywords. ``below`` checks the schemas below."""
        schema["type"].one_of(_TYPES)
        schema["x-kubernetes-list-type"].one_of(_LIST_TYPES)
        if schema["pattern"].is_text():
            self._values.check_pattern(schema["pattern"])
        for one in schema[RULES].items():
            self._check_rule(one["rule"])
            self._check_rule(one[MESSAGE])
        for name in _SIZES:
            schema[name].at_least(0)
        for name in ("required", KEYS):
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
                    _look_into(one, self._check_part)
                else:
                    one.refuse(ErrorType.REQUIRED, "must be given")
        _look_into(schema["not"], self._check_part)

    def _check_rule(self, rule: At) -> None:
        """A rule that is only not understood is stored, and its author is warned."""
        self._budget.spend(PARSING_STEPS * len(rule.text()))
        why = parsed_rule(rule.text())
        if isinstance(why, RuleLimitError):
            rule.invalid(f"must be a rule within the limits of the parser: {why}")


def _look_into(schema: At, look: Callable[[At], None]) -> None:
    if schema.is_object():
        look(schema)
