"""Plays a crowded cluster with trees of groups: no tree is left in part."""

from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.virtual_time import run
from tests.simulation.crowded_play import CrowdedPlay, Tally
from tests.simulation.forest import forest, forest_settings_of
from tests.simulation.invariants import Tell
from tests.simulation.play import first_of, silent
from tests.simulation.scenario import FOREIGN, Scenario
from tests.simulation.whole_trees import WholeTrees


def play_forest(seed: int, tell: Tell = silent) -> Tally:
    try:
        return run(ForestPlay(seed, tell).act())
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation --trees {seed}")
        raise first from None


class ForestPlay(CrowdedPlay):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(seed, tell)
        self._trees = WholeTrees(self._cluster.store)

    def _drawn(self, seed: int) -> Scenario:
        return forest(seed)

    def _chosen(self, seed: int) -> Settings:
        return forest_settings_of(seed)

    def _decided(self, decision: Decision) -> None:
        super()._decided(decision)
        self._trees.look()
        self._counted["trees"] += decision.demand.kind == "CompositePodGroup"

    def _check_rest(self) -> None:
        super()._check_rest()
        self._trees.check_rest(FOREIGN)
