"""Whatever is written, the answer is a configuration or sentences, never a traceback."""

import datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reprieve.config import InvalidConfigurationError, parse_configuration, parse_feature_gates
from reprieve.config.former_args import FORMER_DEFAULTS
from reprieve.config.parsing import ClientConnection, Document, LeaderElection
from reprieve.config.profiles import ARGS, PLUGINS, Plugins, ProfileDocument
from reprieve.preemption.criteria import CRITERIA

ARGUMENTS = [field.type for field in ARGS.values()]
RECORDS = [Document, ClientConnection, LeaderElection, ProfileDocument, Plugins, *ARGUMENTS]
KEYS = sorted({field.encode_name for kind in RECORDS for field in msgspec.structs.fields(kind)})
WORDS = [
    *KEYS,
    *PLUGINS,
    *ARGS,
    *CRITERIA,
    *FORMER_DEFAULTS,
    "enabled",
    "disabled",
    "name",
    "args",
    "weight",
    "*",
    "15s",
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=5),
    st.just(datetime.date(2026, 1, 1)),
)
keys = st.one_of(st.sampled_from(WORDS), st.integers(), st.booleans())
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=25,
)


@given(documents)
def test_any_document_is_read_or_refused(document: object) -> None:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    for whole in (document, {**head, "profiles": [document]}):
        try:
            parse_configuration(whole)
        except InvalidConfigurationError as refused:
            assert all("\n" not in str(error) for error in refused.errors)


@given(st.dictionaries(st.sampled_from(sorted(ARGS)), documents, max_size=3))
def test_any_arguments_are_read_or_refused(args: dict[str, object]) -> None:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    entries = [{"name": name, "args": value} for name, value in args.items()]
    try:
        parse_configuration({**head, "profiles": [{"pluginConfig": entries}]})
    except InvalidConfigurationError as refused:
        assert refused.errors


@given(st.text(alphabet="AaBb=,truefals ", max_size=20))
def test_any_text_of_gates_is_read_or_refused(text: str) -> None:
    try:
        parse_feature_gates(text)
    except InvalidConfigurationError as refused:
        assert refused.errors
