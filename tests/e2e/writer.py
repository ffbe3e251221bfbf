"""Writes into a kept store until it is killed, and says of every write when it was acknowledged.

Of what cannot be kept it says so, too, and goes on.
"""

import random
import resource
import sys
import time
from pathlib import Path

from reprieve_minicluster.store import Key, Part, SqliteBackend, StorageError, Store

_NAMES = [f"m{number}" for number in range(12)]


def write(store: Store, chance: random.Random) -> str:
    """Which map holds what by now: its name, a space, and a number or nothing."""
    name = chance.choice(_NAMES)
    key = Key("configmaps", "default", name)
    number, ballast = str(store.version), "z" * chance.choice((10, 3_000, 40_000))
    data = {"number": number, "ballast": ballast}
    if store.find(key) is None:
        store.create("configmaps", {"kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    elif chance.random() < 0.3:
        store.delete(key)
        return f"{name} "
    else:
        store.patch(key, lambda body: {**body, "data": data}, Part.MAIN)
    return f"{name} {number}"


def main(directory: str, seed: str, room: str) -> None:
    if int(room):  # files that cannot grow are as good as a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), int(room)))
    store = Store(time.time, kept_changes=20, backend=SqliteBackend(Path(directory)))
    chance = random.Random(int(seed))
    while True:
        try:
            print(store.version + 1, write(store, chance), flush=True)
        except StorageError:
            print(store.version, "refused", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
