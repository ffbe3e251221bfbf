"""Are the fields valid that say where a pod may run: affinity, tolerations, spread, gates; and are taints?"""

from collections import Counter

from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.marks import rule
from reprieve.cluster.admission.validation.metadata import check_expression
from reprieve.cluster.api.names import dns_subdomain, label_key, label_value
from reprieve.cluster.api.values import items, part, text_in, texts

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_DO_NOT_SCHEDULE = "DoNotSchedule"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


# --- nodes ---------------------------------------------------------------------------------------


@rule
def check_node_term(term: At, any_value: bool = False) -> None:
    for expression in term["matchExpressions"].items():
        check_expression(expression, ("In", "NotIn"), ("Exists", "DoesNotExist"), ("Gt", "Lt"), any_value)
    for expression in term["matchFields"].items():
        _check_node_field(expression)


def _check_node_field(expression: At) -> None:
    if expression["operator"].value not in ("In", "NotIn"):
        expression["operator"].invalid("must be In or NotIn")
    if expression["key"].value != "metadata.name":
        expression["key"].invalid("must be metadata.name")
    values = expression["values"]
    if not values.is_list() or len(values.value) != 1:
        values.refuse(ErrorType.REQUIRED, "must have exactly one entry")
    for value in values.items():
        value.must_be(dns_subdomain)


@rule
def check_preferred_term(term: At) -> None:
    """A preference for a value that no label can have is harmless, and accepted."""
    check_node_term(term, any_value=True)


# --- label keys ----------------------------------------------------------------------------------


@rule
def check_label_keys(term: At) -> None:
    """Check the label keys of a pod affinity term or of a spread constraint."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term[field]
        if not keys.empty and not term["labelSelector"].given:
            keys.forbid("must not be given without labelSelector")
        for key in keys.items():
            key.must_be(label_key)
    _check_selected_once(term)
    unwanted = set(texts(term.value, "mismatchLabelKeys"))
    for key in term["matchLabelKeys"].items():
        if key.text() in unwanted:
            key.invalid("must not be in mismatchLabelKeys, too")


def _check_selected_once(term: At) -> None:
    """Admission has added one expression for each key; a second one came from the client."""
    selector = part(term.value, "labelSelector")
    used = Counter(part(selector, "matchLabels").keys())
    used.update(text_in(expression, "key") for expression in items(selector, "matchExpressions"))
    for key in term["matchLabelKeys"].items():
        if isinstance(key.value, str) and used[key.value] > 1:
            key.invalid("must not be in labelSelector, too")


# --- spread --------------------------------------------------------------------------------------


@rule
def check_min_domains(constraint: At) -> None:
    if constraint["minDomains"].given and constraint["whenUnsatisfiable"].value != _DO_NOT_SCHEDULE:
        constraint["minDomains"].invalid(f"must not be given unless whenUnsatisfiable is {_DO_NOT_SCHEDULE}")


@rule
def check_spread_once(constraint: At) -> None:
    which = (constraint["topologyKey"].text(), constraint["whenUnsatisfiable"].text())
    constraint["topologyKey"].once("spread", which, "must be there only once with this whenUnsatisfiable")


# --- taints and tolerations ----------------------------------------------------------------------


@rule
def check_toleration(toleration: At) -> None:
    key, operator = toleration["key"], toleration["operator"].text()
    effect, value = toleration["effect"], toleration["value"]
    if not key.empty:
        key.must_be(label_key)
    elif operator != "Exists":
        toleration["operator"].invalid("must be Exists where key is empty, which means every key")
    seconds = toleration["tolerationSeconds"]
    if seconds.is_integer() and effect.value != "NoExecute":
        effect.invalid("must be NoExecute where tolerationSeconds is given")
    if operator == "Exists":
        if not value.empty:
            value.invalid("must be empty where operator is Exists")
    elif operator in ("", "Equal"):
        value.must_be(label_value)
    else:
        toleration["operator"].one_of(("Equal", "Exists"))
    if not effect.empty:
        effect.one_of(_EFFECTS)


@rule
def check_taint_once(taint: At) -> None:
    which = (taint["key"].text(), taint["effect"].text())
    taint.once("taints", which, "must be there only once with this key and effect")
