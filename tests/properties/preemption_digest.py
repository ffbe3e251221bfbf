"""Prints one line that depends on every plan for some random crowds: run in several processes."""

import hashlib
import json
import sys

from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, seeded_crowd
from tests.properties.preempting import answer
from tests.reference.policies import UPSTREAM


def digest(seeds: range) -> str:
    crowds = [seeded_crowd(seed, EVERYTHING) for seed in seeds]
    said = [answer(crowd, policy) for crowd in crowds for policy in (REPRIEVE, UPSTREAM)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


if __name__ == "__main__":
    print(digest(range(int(sys.argv[1]))))
