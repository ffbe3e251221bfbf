"""The files of recorded decisions."""

from pathlib import Path

PODS_AND_GANGS = Path(__file__).parent / "observed"
TREES = Path(__file__).parent / "observed_trees"
FILES = [path for directory in (PODS_AND_GANGS, TREES) for path in sorted(directory.glob("*.json"))]
