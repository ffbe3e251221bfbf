"""The whole document: what holds for every profile, and all mistakes at once."""

import pytest
import yaml
from tests.unit.config import complaints, configuration

from reprieve.config import default_configuration, parse_configuration
from reprieve.config.decoding import Seconds
from reprieve.config.parsing import as_document


def test_the_defaults() -> None:
    default = default_configuration()
    assert default == configuration(profiles=None)
    assert [p.scheduler_name for p in default.profiles] == ["reprieve"]
    settings = default.settings
    assert (settings.pod_initial_backoff_seconds, settings.pod_max_backoff_seconds) == (1, 10)
    election = settings.leader_election
    assert (election.resource_namespace, election.resource_name) == ("kube-system", "reprieve")


def test_settings_are_read() -> None:
    settings = configuration(
        parallelism=4,
        podMaxBackoffSeconds=30,
        leaderElection={"leaderElect": False, "leaseDuration": "1m30s", "retryPeriod": "500ms"},
        clientConnection={"qps": 20, "burst": 0},
    ).settings
    assert (settings.parallelism, settings.pod_max_backoff_seconds) == (4, 30)
    assert not settings.leader_election.leader_elect
    assert settings.leader_election.lease_duration == 90.0
    assert settings.leader_election.retry_period == 0.5
    assert (settings.client_connection.qps, settings.client_connection.burst) == (20.0, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("1h1m", 3660),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("250us", 0.00025),
        ("1m30s500ms", 90.5),
        ("1µs", 1e-6),
    ],
)
def test_lengths_of_time_as_go_reads_them(text: str, seconds: float) -> None:
    assert Seconds.parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "1", "s", "-1s", "1 s", "1d", "1.s.", "ms1"])
def test_what_is_no_length_of_time(text: str) -> None:
    assert Seconds.parse(text) is None


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"paralelism": 3}, 'paralelism: unknown field (did you mean "parallelism"?)'),
        ({"parallelism": "16"}, 'parallelism: expected a whole number of at least 1, got "16"'),
        (
            {"parallelism": 2**31},
            "parallelism: expected a whole number of at least 1 and at most 2147483647, got 2147483648",
        ),
        ({"parallelism": 0}, "parallelism: expected a whole number of at least 1, got 0"),
        (
            {"profiles": [{"percentageOfNodesToScore": 101}]},
            "profiles[0].percentageOfNodesToScore: expected a whole number from 0 to 100, got 101",
        ),
        (
            {"leaderElection": {"leaseDuration": "600000h"}},
            'leaderElection.leaseDuration: expected a duration such as "15s" of at most 2147483647s, got "6',
        ),
        (
            {"percentageOfNodesToScore": 101},
            "percentageOfNodesToScore: expected a whole number from 0 to 100, got 101",
        ),
        (
            {"podInitialBackoffSeconds": 20},
            "podMaxBackoffSeconds: expected at least podInitialBackoffSeconds (20), got 10",
        ),
        (
            {"leaderElection": {"leaseDuration": 15}},
            'leaderElection.leaseDuration: expected a duration such as "15s", got 15',
        ),
        (
            {"leaderElection": {"leaseDuration": "10s"}},
            "leaderElection.leaseDuration: expected more than renewDeadline (10s)",
        ),
        (
            {"leaderElection": {"leaseDuration": "10.9s", "renewDeadline": "10.5s"}},
            "leaderElection.leaseDuration: expected more than renewDeadline (10.5s), in whole seconds",
        ),
        (
            {"leaderElection": {"retryPeriod": "9s"}},
            "leaderElection.renewDeadline: expected more than 1.2 times retryPeriod",
        ),
        (
            {"leaderElection": {"resourceLock": "endpoints"}},
            'leaderElection.resourceLock: expected "leases", got "endpoints"',
        ),
        ({"clientConnection": []}, "clientConnection: expected a mapping, got a list"),
        *(
            (
                {"clientConnection": {"qps": qps}},
                "clientConnection.qps: expected a number from -2147483647 to 2147483647, got ",
            )
            for qps in (float("nan"), 10**400, -(2.0**31))
        ),
        ({"clientConnection": {"qps": "x"}}, 'clientConnection.qps: expected a number, got "x"'),
        ({"delayCacheUntilActive": 1}, "delayCacheUntilActive: expected true or false, got 1"),
        ({"profiles": {}}, "profiles: expected a list, got a mapping"),
        ({"profiles": [None]}, "profiles[0]: expected a mapping, got null"),
        ({"extenders": [{"urlPrefix": "x"}]}, "extenders[0]: extenders are not supported"),
    ],
)
def test_a_mistake_is_named_with_its_path(keys: dict[str, object], complaint: str) -> None:
    (said,) = complaints(lambda: configuration(**keys))
    assert said.startswith(complaint)


def test_the_document_must_say_what_it_is() -> None:
    assert complaints(lambda: parse_configuration({"apiVersion": "v1"})) == [
        'apiVersion: expected "kubescheduler.config.k8s.io/v1", got "v1"',
        'kind: required: expected "KubeSchedulerConfiguration"',
    ]
    assert complaints(lambda: parse_configuration("x")) == ['expected a mapping, got "x"']


def test_an_error_hides_no_error_in_other_fields() -> None:
    """Each layer of the document has one error of type here, and beside it one that only a rule finds."""
    args = {"name": "Reprieve", "args": {"preemptionPriorityClasses": [{"class": "x", "namespaces": []}]}}
    spread = {
        "name": "PodTopologySpread",
        "args": {"defaultingType": 3, "defaultConstraints": [{"maxSkew": 0}]},
    }
    fit = {"name": "NodeResourcesFit", "args": {"ignoredResourceGroups": ["a/b"], "ignoredResources": "x"}}
    said = complaints(
        lambda: parse_configuration(
            {
                "apiVersion": "v1",
                "podInitialBackoffSeconds": 20,
                "leaderElection": {"leaseDuration": "5s", "retryPeriod": 2},
                "profiles": [
                    {
                        "schedulerNmae": "a",
                        "plugins": {"filter": {"enabled": [{"name": "Mine", "weight": "1"}]}},
                        "pluginConfig": [{"args": {}}, args, spread, fit],
                    },
                    {"schedulerName": 3, "pluginConfig": [args]},
                ],
            }
        )
    )
    assert [complaint.partition(": ")[0] for complaint in said] == [
        "apiVersion",
        "leaderElection.retryPeriod",
        "kind",
        "podMaxBackoffSeconds",
        "leaderElection.leaseDuration",
        "profiles[0].schedulerNmae",
        "profiles[0].plugins.filter.enabled[0].weight",
        "profiles[0].plugins.filter.enabled[0].name",
        "profiles[0].pluginConfig[0].name",
        "profiles[0].pluginConfig[1].args.preemptionPriorityClasses[0].namespaces",
        "profiles[0].pluginConfig[2].args.defaultingType",
        "profiles[0].pluginConfig[2].args.defaultConstraints[0].maxSkew",
        "profiles[0].pluginConfig[2].args.defaultConstraints[0].topologyKey",
        "profiles[0].pluginConfig[3].args.ignoredResources",
        "profiles[0].pluginConfig[3].args.ignoredResourceGroups[0]",
        "profiles[1].schedulerName",
        "profiles[1].pluginConfig[0].args.preemptionPriorityClasses[0].namespaces",
        "profiles[0].schedulerName",
    ]


def test_a_rule_is_not_applied_to_the_default_of_a_field_with_an_error() -> None:
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": [{"score": 11}]}}
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": ratio}}
    said = complaints(
        lambda: configuration(
            podInitialBackoffSeconds=20,
            podMaxBackoffSeconds="30",
            leaderElection={"leaseDuration": "8s", "renewDeadline": 5},
            profiles=[
                {"schedulerName": "a", "pluginConfig": [fit]},
                {
                    "schedulerName": "b",
                    "pluginConfig": [{"name": "Reprieve", "args": {"divergence": "Report"}}],
                },
            ],
        )
    )
    shape = "profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio.shape[0]"
    assert [complaint.partition(": ")[0] for complaint in said] == [
        "podMaxBackoffSeconds",
        "leaderElection.renewDeadline",
        f"{shape}.score",
        f"{shape}.utilization",
    ]


def test_several_profiles_need_names_of_their_own() -> None:
    two = configuration(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    assert [p.scheduler_name for p in two.profiles] == ["a", "b"]
    assert complaints(lambda: configuration(profiles=[{"schedulerName": "a"}, {}])) == [
        "profiles[1].schedulerName: required with several profiles: expected a non-empty string"
    ]
    assert complaints(lambda: configuration(profiles=[{"schedulerName": "a"}, {"schedulerName": "a"}])) == [
        'profiles[1].schedulerName: expected a unique name, got "a" as in profiles[0]'
    ]


def test_profiles_that_differ_in_gang_support_are_refused() -> None:
    off = {"multiPoint": {"disabled": [{"name": "GangScheduling"}]}}
    profiles: list[dict[str, object]]
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "plugins": off}]
    assert complaints(lambda: configuration(profiles=profiles)) == [
        "profiles: GangScheduling must be on in all profiles or in none, and is off in profiles[1]"
    ]
    profiles[0]["plugins"] = off
    assert not any(p.gang_scheduling for p in configuration(profiles=profiles).profiles)


@pytest.mark.parametrize(
    ("plugin", "key", "value"),
    [
        ("VolumeBinding", "bindTimeoutSeconds", 30),
        ("Reprieve", "gangPreemption", "All"),
        ("Reprieve", "divergence", "Report"),
    ],
)
def test_profiles_agree_about_what_pods_of_several_share(plugin: str, key: str, value: object) -> None:
    other = [{"name": plugin, "args": {key: value}}]
    profiles = [{"schedulerName": "a"}, {"schedulerName": "b", "pluginConfig": other}]
    assert complaints(lambda: configuration(profiles=profiles)) == [
        f"profiles: {key} of {plugin} must be the same in all profiles"
    ]


# --- with all defaults -----------------------------------------------------------------------------


HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

DOCUMENTS = [
    HEAD,
    {**HEAD, "leaderElection": {"leaseDuration": "1h", "renewDeadline": "20m", "retryPeriod": "500ms"}},
    {**HEAD, "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}]},
    {
        **HEAD,
        "profiles": [
            {"pluginConfig": [{"name": "Reprieve", "args": {"disturbance": ["Pods", "LatestStart"]}}]}
        ],
    },
    {
        **HEAD,
        "profiles": [
            {
                "plugins": {
                    "score": {
                        "disabled": [{"name": "*"}],
                        "enabled": [{"name": "ImageLocality", "weight": 4}],
                    },
                    "multiPoint": {"disabled": [{"name": "GangScheduling"}]},
                },
                "pluginConfig": [
                    {"name": "Reprieve", "args": {"policy": "Upstream", "respectBudgets": "Always"}},
                    {
                        "name": "NodeAffinity",
                        "args": {
                            "addedAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                                    ]
                                }
                            }
                        },
                    },
                ],
            }
        ],
    },
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_there_and_back(document: dict[str, object]) -> None:
    configured = parse_configuration(document)
    text = yaml.safe_dump(as_document(configured))
    assert parse_configuration(yaml.safe_load(text)) == configured
