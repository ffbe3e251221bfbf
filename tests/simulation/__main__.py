"""`python -m tests.simulation SEED`: plays one simulation again and tells what happens in it."""

import argparse

from tests.simulation.play import play
from tests.simulation.scenario import scenario


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seed", type=int)
    seed = parser.parse_args().seed
    print(f"faults: {scenario(seed).faults}")
    outcome = play(seed, print)
    print(f"all is well: {outcome.ran} pods ran or run, after {outcome.decisions} decisions")


if __name__ == "__main__":
    main()
