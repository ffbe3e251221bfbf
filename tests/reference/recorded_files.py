"""The files of recorded decisions, and those among them that do not hold all that was there."""

from pathlib import Path

PODS_AND_GANGS = Path(__file__).parent / "observed"
TREES = Path(__file__).parent / "observed_trees"
FILES = [path for directory in (PODS_AND_GANGS, TREES) for path in sorted(directory.glob("*.json"))]

# A pod was on n0 and is not in these files: see the README of observed_trees.
INCOMPLETE = [TREES / f"tree-victims-{n:04}.json" for n in (48, 62, 64, 66, 68, 70, 76, 86, 88)]
COMPLETE = [path for path in FILES if path not in INCOMPLETE]
