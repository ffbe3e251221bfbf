"""Are the fields valid that say where a pod may run: affinity, tolerations, spread, gates; and are taints?"""

from collections import Counter

from reprieve.cluster.api.names import dns_label, dns_subdomain, label_key, label_value
from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.cluster.apiserver.field_errors import At, ErrorType
from reprieve.cluster.apiserver.validation.metadata import check_expression, check_selector

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_DO_NOT_SCHEDULE = "DoNotSchedule"
_HEAVIEST = 100


def check_affinity(affinity: At) -> None:
    if not affinity.is_object():
        return
    _check_node_affinity(affinity["nodeAffinity"])
    for field in ("podAffinity", "podAntiAffinity"):
        if affinity[field].is_object():
            _check_pod_affinity(affinity[field])


# --- nodes ---------------------------------------------------------------------------------------


def _check_node_affinity(affinity: At) -> None:
    if not affinity.is_object():
        return
    if affinity[REQUIRED].given:
        check_node_selector(affinity[REQUIRED])
    for term in affinity[PREFERRED].items():
        _check_weight(term)
        _check_node_term(term["preference"], any_value=True)


def check_node_selector(selector: At) -> None:
    terms = selector["nodeSelectorTerms"]
    terms.require("must have at least one term")
    for term in terms.items():
        _check_node_term(term)


def _check_node_term(term: At, any_value: bool = False) -> None:
    """A preference for a value that no label can have is harmless, and accepted."""
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


def _check_weight(term: At) -> None:
    term["weight"].require()
    term["weight"].within(1, _HEAVIEST)


# --- other pods ----------------------------------------------------------------------------------


def _check_pod_affinity(affinity: At) -> None:
    for term in affinity[REQUIRED].items():
        _check_pod_term(term)
    for weighted in affinity[PREFERRED].items():
        _check_weight(weighted)
        _check_pod_term(weighted["podAffinityTerm"])


def _check_pod_term(term: At) -> None:
    check_selector(term["labelSelector"])
    check_selector(term["namespaceSelector"])
    for namespace in term["namespaces"].items():
        namespace.must_be(dns_label)
    term["topologyKey"].must_name(label_key)
    check_label_keys(term)
    unwanted = set(texts(term.value, "mismatchLabelKeys"))
    for key in term["matchLabelKeys"].items():
        if key.text() in unwanted:
            key.invalid("must not be in mismatchLabelKeys, too")


def check_label_keys(term: At) -> None:
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term[field]
        if not keys.empty and not term["labelSelector"].given:
            keys.forbid("must not be given without labelSelector")
        for key in keys.items():
            key.must_be(label_key)
    _check_selected_once(term)


def _check_selected_once(term: At) -> None:
    """Admission has added one expression for each key; a second one came from the client."""
    selector = part(term.value, "labelSelector")
    used = Counter(part(selector, "matchLabels").keys())
    used.update(text_in(expression, "key") for expression in items(selector, "matchExpressions"))
    for key in term["matchLabelKeys"].items():
        if isinstance(key.value, str) and used[key.value] > 1:
            key.invalid("must not be in labelSelector, too")


# --- spread --------------------------------------------------------------------------------------


def check_spread(constraints: At) -> None:
    seen: set[tuple[str, str]] = set()
    for constraint in constraints.items():
        _check_constraint(constraint)
        which = (constraint["topologyKey"].text(), constraint["whenUnsatisfiable"].text())
        if which in seen:
            constraint["topologyKey"].refuse(
                ErrorType.DUPLICATE, "must be there only once with this whenUnsatisfiable"
            )
        seen.add(which)


def _check_constraint(constraint: At) -> None:
    constraint["maxSkew"].require()
    constraint["maxSkew"].at_least(1)
    constraint["topologyKey"].require()
    constraint["topologyKey"].is_text()
    when = constraint["whenUnsatisfiable"]
    when.require()
    when.one_of((_DO_NOT_SCHEDULE, "ScheduleAnyway"))
    constraint["minDomains"].at_least(1)
    if constraint["minDomains"].given and when.value != _DO_NOT_SCHEDULE:
        constraint["minDomains"].invalid(f"must not be given unless whenUnsatisfiable is {_DO_NOT_SCHEDULE}")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        constraint[policy].one_of(("Honor", "Ignore"))
    check_selector(constraint["labelSelector"])
    check_label_keys(constraint)


# --- taints and tolerations ----------------------------------------------------------------------


def check_tolerations(tolerations: At) -> None:
    for toleration in tolerations.items():
        _check_toleration(toleration)


def _check_toleration(toleration: At) -> None:
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
        effect.one_of(EFFECTS)


def check_taints(taints: At) -> None:
    seen: set[tuple[str, str]] = set()
    for taint in taints.items():
        taint["key"].must_name(label_key)
        taint["value"].must_be(label_value)
        taint["effect"].require()
        taint["effect"].one_of(EFFECTS)
        which = (taint["key"].text(), taint["effect"].text())
        if which in seen:
            taint.refuse(ErrorType.DUPLICATE, "must be there only once with this key and effect")
        seen.add(which)


def check_scheduling_gates(gates: At) -> None:
    seen: set[str] = set()
    for gate in gates.items():
        gate["name"].must_name(label_key)
        name = gate["name"].text()
        if name in seen:
            gate["name"].refuse(ErrorType.DUPLICATE, "must be there only once")
        seen.add(name)
