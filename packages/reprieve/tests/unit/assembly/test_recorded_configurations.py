"""Configurations in the snapshots and journals of earlier versions are read, and mean what they meant."""

import json
from pathlib import Path

import pytest
from tests.unit.config import configuration

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.assembly.journals import journal_in, run_configuration
from reprieve.assembly.scheduler_settings import settings_of
from reprieve.config import Gates, ReprieveArgs
from reprieve.config.decoding import Seconds
from reprieve.config.reprieve_args import names_of
from reprieve.inquiry.decoded_cluster import DecodedCluster, decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.preemption.criteria import AS_UPSTREAM, DISTURBANCE
from reprieve.preemption.searches import PRIORITY_CEILING
from reprieve.runtime.journal import read_entries
from reprieve.runtime.journal_lines import Began

STORED = Path(__file__).parent / "stored"


def stored_snapshot() -> DecodedCluster:
    """Saved before ``ranking`` went, with every default of then."""
    return decoded(
        cluster_in([parse_objects((STORED / "snapshot.jsonl").read_bytes(), "snapshot.jsonl")], 0.0)
    )


def recorded(run: str) -> ReprieveArgs:
    """The arguments of a run whose head was written before ``ranking`` went, without the defaults of then."""
    head = json.loads((STORED / "journal-heads.json").read_text())[run]
    configured, gates = run_configuration(head)
    assert gates == Gates()
    assert settings_of(configured).policies
    return configured.profiles[0].args.reprieve


def test_a_snapshot_says_nothing_of_keys_that_went() -> None:
    chosen = inquiry_settings(PolicyChoice(), stored_snapshot())
    assert (chosen.policy, chosen.notes) == ("of the cluster", ())
    assert chosen.settings.policies["reprieve"].search is PRIORITY_CEILING


def test_a_snapshot_with_a_ranking_of_its_own_is_read() -> None:
    cluster = stored_snapshot()
    assert cluster.source.configuration is not None
    args = cluster.source.configuration["profiles"][0]["pluginConfig"][0]["args"]
    args["ranking"] = ["Pods", "GangsBroken", "HighestPriority"]
    policy = inquiry_settings(PolicyChoice(), cluster).settings.policies["reprieve"]
    assert [criterion.name for criterion in policy.disturbance] == ["Pods", "HighestPriority"]


def test_a_file_that_is_asked_with_has_its_warnings_as_notes() -> None:
    cluster = stored_snapshot()
    chosen = inquiry_settings(PolicyChoice("old.yaml", cluster.source.configuration), cluster)
    path = "old.yaml: profiles[0].pluginConfig[0].args"
    *ignored, kept = chosen.notes
    assert kept.startswith(f"{path}.search: PriorityCeiling was the default and is kept; ")
    assert [note.partition(": ignored: ")[0] for note in ignored] == [
        f"{path}.disturbance",
        f"{path}.leastDisturbanceFor",
        f"{path}.placementsTried",
        f"{path}.planningPatience",
        f"{path}.ranking",
        f"{path}.resizeAccounting",
    ]


@pytest.mark.parametrize(
    ("run", "search", "order"),
    [
        ("default", "PriorityCeiling", names_of(DISTURBANCE)),
        ("Upstream", "Upstream", names_of(AS_UPSTREAM)),
        ("LeastDisturbance", "LeastDisturbance", ("PodsStopped", "HighestPriority")),
        ("ranking", "PriorityCeiling", ("Pods", "HighestPriority")),
    ],
)
def test_a_journal_is_read_with_the_defaults_of_then(run: str, search: str, order: tuple[str, ...]) -> None:
    args = recorded(run)
    assert (args.search, args.disturbance) == (search, order)


@pytest.mark.parametrize(
    "args", [{}, {"policy": "Upstream"}, {"disturbance": ["Pods"], "lostWorkCap": "90s"}]
)
def test_a_journal_has_every_key(args: dict[str, object], tmp_path: Path) -> None:
    profile = {"pluginConfig": [{"name": "Reprieve", "args": args}]}
    configured = configuration(profiles=[profile], leaderElection={"retryPeriod": "1.5s"})
    with journal_in(tmp_path, configured, Gates(), print):
        pass
    began = next(read_entries(tmp_path))
    assert isinstance(began, Began)
    assert run_configuration(began.head) == (configured, Gates())
    assert "search" in json.dumps(began.head)


def test_a_journal_with_keys_that_went_is_read() -> None:
    """Whatever their value was: nobody can edit the configuration of a run."""
    former = {"placementsTried": 5, "resizeAccounting": "Upstream", "lostWorkCap": "90s"}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "Reprieve", "args": former}]}],
    }
    configured, _ = run_configuration({"configuration": document, "gates": {}})
    assert configured.profiles[0].args.reprieve == ReprieveArgs(lost_work_cap=Seconds(90))
