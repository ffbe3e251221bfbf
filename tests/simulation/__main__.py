"""`python -m tests.simulation SEED`: plays a simulation again and tells what happens in it."""

import argparse

from tests.simulation.crowd import crowd
from tests.simulation.crowded_play import play_crowd
from tests.simulation.play import play
from tests.simulation.scenario import scenario


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--calm", action="store_true", help="a cluster without preemption")
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    asked = parser.parse_args()
    for seed in asked.seeds:
        print(f"faults: {(scenario if asked.calm else crowd)(seed).faults}")
        print(f"all is well: {(play if asked.calm else play_crowd)(seed, print)}")


if __name__ == "__main__":
    main()
