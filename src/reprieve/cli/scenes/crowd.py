"""A gang preempts in a crowded cluster: what kube-scheduler's algorithm would stop, and what is enough.

Both are asked with what `reprieve whatif` uses; nothing runs.
"""

import time
from collections import Counter
from collections.abc import Sequence

import msgspec

from reprieve.assembly.inquiries import PolicyChoice, inquiry_settings
from reprieve.cli.scenes import ScenePacing
from reprieve.cli.scenes.crowded_cluster import CrowdedCluster, gang
from reprieve.cli.terminal import show_fitting as show
from reprieve.config.keys.reprieve_args import Preset, SearchAlgorithm
from reprieve.inquiry.cluster_objects import ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import consistent
from reprieve.inquiry.manifests import Manifest
from reprieve.inquiry.whatif import whatif
from reprieve.inquiry.whatif_records import WhatIfQuestion, WhatIfReport
from reprieve.model.json import Json
from reprieve.report.text_layout import BLANK, TextLine, table

NODES, GROUPS, SEED = 100, 180, 3
PODS, CPU = 16, 10  # of the gang
_TAKEN_AT = 1_700_000_000.0
_ALGORITHMS = {
    "kube-scheduler's": PolicyChoice(str(Preset.UPSTREAM)),
    "LeastDisturbance": PolicyChoice(str(SearchAlgorithm.LEAST_DISTURBANCE)),
}
_HEADER = ("ALGORITHM", "PODS", "GROUPS", "PRIORITY", "BEYOND BUDGETS", "SECONDS", "PROVED")
_CONCLUSION = (
    "Either plan makes room for the whole gang. PROVED: no plan has a lower price. The price is the",
    "evictions beyond budgets first, then the highest priority, then the pods that stop.",
)


def play(pace: ScenePacing, command: str) -> None:
    objects = [*CrowdedCluster(NODES, GROUPS, SEED).objects()]
    show(introduction(Counter(thing["kind"] for thing in objects)))
    pace.wait("the next step")
    rows = [comparison_row(name, *timed(choice, objects)) for name, choice in _ALGORITHMS.items()]
    show([TextLine("What each would stop, and up to which priority:"), BLANK])
    show([*table(_HEADER, rows, numbers=range(1, 6)), BLANK, *map(TextLine, _CONCLUSION)])
    whatif_command = f"{command.removesuffix('demo')}whatif -f gang.yaml --compare Upstream"
    show([TextLine(f"For your own cluster: {whatif_command}", whole=True)])


def introduction(counts: Counter[str]) -> list[TextLine]:
    nodes, pods, groups = counts["Node"], counts["Pod"], counts["PodGroup"]
    budgets = counts["PodDisruptionBudget"]
    lines = (
        f"{nodes} crowded nodes run {pods:,} pods of five priorities, most of them in {groups} groups that",
        f"are evicted as a whole; {budgets} budgets guard every fifth pod. Two algorithms make room for a",
        f"gang of {PODS} pods of {CPU} cpu that is more important than all of them.",
    )
    return [*map(TextLine, lines), BLANK]


def timed(choice: PolicyChoice, objects: Sequence[Json]) -> tuple[WhatIfReport, float]:
    """What would become of the gang, and how many seconds the answer took."""
    things = [ApiObject(one["kind"], one["apiVersion"], msgspec.json.encode(one)) for one in objects]
    cluster = decoded(consistent(ClusterObjects(tuple(things), _TAKEN_AT)))
    manifests = tuple(Manifest(body, "the gang") for body in gang("train", PODS, CPU))
    chosen = inquiry_settings(choice, cluster, [manifest.body for manifest in manifests])
    begin = time.perf_counter()
    question = WhatIfQuestion(cluster, chosen.settings, chosen.policy, manifests)
    (report,) = whatif(question, _TAKEN_AT).reports
    return report, time.perf_counter() - begin


def comparison_row(name: str, report: WhatIfReport, seconds: float) -> list[str]:
    groups = {victim.unit for victim in report.victims if victim.unit.startswith("PodGroup/")}
    numbers = (
        len(report.victims),
        len(groups),
        max(victim.priority for victim in report.victims),
        sum(exceeded.going - exceeded.allowed for exceeded in report.exceeded),
    )
    quality = report.quality
    is_known = quality is not None and (quality.proved or bool(quality.bound))
    proved = "-" if not is_known or quality is None else "yes" if quality.proved else "no"
    return [name, *map(str, numbers), f"{seconds:.1f}", proved]
