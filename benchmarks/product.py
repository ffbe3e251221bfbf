"""The names of the product that the benchmarks need, in every revision that they can be run against.

The same benchmark code runs against old revisions, whose modules have other names. So a name of the product
is looked up here, by where it is now and where it was before. When one moves, its new home is added here.
"""

from functools import cache
from importlib import import_module
from typing import Any

# Where each name is, the newest place first; after a colon, what it is called there.
HOMES: dict[str, tuple[str, ...]] = {
    # Events in, effects out: what most cases need.
    "Scheduler": ("reprieve.scheduler.core",),
    "Seen": ("reprieve.model.events",),
    "Gone": ("reprieve.model.events",),
    "Synced": ("reprieve.model.events",),
    "Done": ("reprieve.model.events",),
    "PlanImproved": ("reprieve.model.events",),
    "Bind": ("reprieve.model.effects",),
    "Nominate": ("reprieve.model.effects",),
    "Evict": ("reprieve.model.effects",),
    "SetCondition": ("reprieve.model.effects",),
    "Target": ("reprieve.model.effects",),
    "decode": ("reprieve.cluster.api.codec",),
    "message_of": ("reprieve.preemption.least_disturbance.solver_task",),
    "solved": ("reprieve.preemption.least_disturbance.solver_task",),
    "answer_of": ("reprieve.preemption.least_disturbance.solver_task",),
    # Configuration.
    "parse_configuration": ("reprieve.config",),
    "settings_of": ("reprieve.assembly.scheduler_settings", "reprieve.assembly"),
    # What surrounds the scheduler.
    "watched": ("reprieve.assembly.observed_scheduler", "reprieve.assembly"),
    "Telemetry": ("reprieve.runtime.telemetry",),
    "Journal": ("reprieve.runtime.journal",),
    "Loop": ("reprieve.runtime.loop",),
    "settle": ("reprieve.runtime.memory", "gc:freeze"),
    "PerformerLimits": ("reprieve.runtime.performer", "reprieve.runtime.performer:Limits"),
    "run": ("reprieve.runtime.virtual_time",),
    "clock": ("reprieve.runtime.virtual_time",),
    # Studies.
    "Job": ("reprieve.study.job",),
    "StudyInput": ("reprieve.study.cell",),
    "encoded": ("reprieve.study.cell",),
    "play": ("reprieve.study.cell",),
    "pool": ("reprieve.study.node_pools",),
    # The page.
    "PictureFeed": ("reprieve.page.feed",),
    "LivePicture": ("reprieve.page.live",),
    "PageHead": ("reprieve.page.documents",),
    "PageParts": ("reprieve.page.sources",),
    "LiveFrames": ("reprieve.page.sources",),
    "loopback_page": ("reprieve.assembly.loopback_page",),
    "BetweenSteps": ("reprieve.assembly.serving_thread",),
    # The mini cluster.
    "MiniCluster": ("reprieve.cluster.mini.cluster",),
    "Store": ("reprieve.cluster.mini.store",),
    "SqliteBackend": ("reprieve.cluster.mini.sqlite_backend", "reprieve.cluster.mini.disk:Disk"),
    "admitted": ("reprieve.cluster.mini.admission", "reprieve.cluster.mini.admitted"),
    "ALL_FEATURES": ("reprieve.cluster.apiserver.features", "reprieve.cluster.api.features"),
    "SHAPES": ("reprieve.cluster.mini.bootstrap", "reprieve.cluster.mini.setup"),
    "nodes_of": ("reprieve.cluster.mini.bootstrap", "reprieve.cluster.mini.setup"),
    "ApiServer": ("reprieve.cluster.mini.rest.api_server", "reprieve.cluster.mini.rest.front:Front"),
    "ApiRequest": (
        "reprieve.cluster.mini.rest.http_messages",
        "reprieve.cluster.mini.rest.exchange:Request",
    ),
    "serve": ("reprieve.cluster.mini.rest.http_server", "reprieve.cluster.mini.rest.server"),
    "ListenAddress": (
        "reprieve.cluster.mini.rest.http_server",
        "reprieve.cluster.mini.rest.server:Endpoint",
    ),
}

# What runs the daemon, as the installed command does.
COMMAND = "from reprieve.cli.main import main; main()"


@cache
def find(name: str) -> Any:
    """A class or function of the product under measurement."""
    for home in HOMES[name]:
        module, _, renamed = home.partition(":")
        try:
            return getattr(import_module(module), renamed or name)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise  # the module is there, and something that it needs is not
        except AttributeError:
            continue
    homes = " or ".join(HOMES[name])
    raise SystemExit(f"no {name} in {homes}: benchmarks/product.py must say where this revision has it")
