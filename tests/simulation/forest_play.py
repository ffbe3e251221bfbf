"""Plays a crowded cluster with trees of groups: no tree is left in part."""

from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import Settings
from tests.simulation.crowded_play import CrowdedPlay, Tally, played
from tests.simulation.forest import forest, forest_settings_of
from tests.simulation.invariants import Tell
from tests.simulation.play import silent
from tests.simulation.scenario import FOREIGN, Scenario
from tests.simulation.whole_trees import WholeTrees


def play_forest(seed: int, tell: Tell = silent) -> Tally:
    return played(ForestPlay(seed, tell), f"--trees {seed}")


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
