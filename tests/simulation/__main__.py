"""`python -m tests.simulation SEED`: plays a simulation again and tells what happens in it."""

import argparse
from collections.abc import Callable

from tests.simulation.crowd import crowd, crowd_with_jumps
from tests.simulation.crowded_play import play_crowd, play_jumps
from tests.simulation.forest import forest
from tests.simulation.forest_play import play_forest
from tests.simulation.invariants import Tell
from tests.simulation.play import play
from tests.simulation.scenario import Scenario, scenario

KINDS: dict[str, tuple[Callable[[int], Scenario], Callable[[int, Tell], object]]] = {
    "calm": (scenario, play),
    "crowd": (crowd, play_crowd),
    "jumps": (crowd_with_jumps, play_jumps),
    "trees": (forest, play_forest),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--calm", dest="kind", action="store_const", const="calm", help="a cluster that is not crowded"
    )
    kinds.add_argument(
        "--jumps",
        dest="kind",
        action="store_const",
        const="jumps",
        help="a crowd whose clock is set both ways",
    )
    kinds.add_argument(
        "--trees", dest="kind", action="store_const", const="trees", help="a cluster with trees of groups"
    )
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    asked = parser.parse_args()
    draw, play_it = KINDS[asked.kind or "crowd"]
    for seed in asked.seeds:
        print(f"faults: {draw(seed).faults}")
        print(f"all is well: {play_it(seed, print)}")


if __name__ == "__main__":
    main()
