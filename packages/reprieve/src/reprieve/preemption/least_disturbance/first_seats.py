"""A good plan at once, for members of several shapes: they take seats, and units are put back around them.

Each member takes the node where the least has to go for it. What goes then makes other seats cheaper, so all
of them choose again. What is found is seldom the best; a solver starts from it.
"""

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.preemption.least_disturbance.first_plan import Charges, weights_of
from reprieve.preemption.least_disturbance.model import Counts, RoomModel, Seats

_ROUNDS = 3


def first_seats(model: RoomModel) -> tuple[Counts, Seats] | None:
    """Which units go, and where members sit; None if not as many as are needed find a seat in this way."""
    best: tuple[Counts, Seats] | None = None
    gone: Counts = {}
    for _ in range(_ROUNDS):
        seating = _Seating(model, gone)
        if not seating.seat_all():
            break
        gone = seating.put_back()
        if best is not None and model.cost(gone) >= model.cost(best[0]):
            break
        best = gone, seating.seats
    return best


class _Seating:
    """``gone``: units that go anyway. All others can go, but that has its price."""

    def __init__(self, model: RoomModel, gone: Counts) -> None:
        self._model = model
        self._needs = np.array(model.needs, np.int64)
        self._usable = np.array([[s in by for by in model.usable_by] for s in range(len(model.needs))])
        self._emptied = self._left_without({i: len(item.units) for i, item in enumerate(model.items)})
        self._left = self._left_without(gone)
        self._minded = np.zeros(self._left.shape, np.bool_)  # [node, resource] a member there asks for it
        self.seats: Seats = {}

    def _left_without(self, gone: Counts) -> Ints:
        left = np.array(self._model.left, np.int64).reshape(len(self._model.left), self._needs.shape[1])
        for i, count in gone.items():
            for node, used in self._model.items[i].footprint:
                left[node] += np.array(used, np.int64) * count
        return left

    def seat_all(self) -> bool:
        """The smallest members are enough, and of these the largest choose first."""
        average = np.maximum(self._emptied.mean(axis=0), 1)
        size = (self._needs / average).max(axis=1, initial=0.0)
        smallest = sorted(
            (shape for shape, count in enumerate(self._model.members) for _ in range(count)),
            key=lambda shape: (size[shape], shape),
        )
        return all(self._seat(shape) for shape in reversed(smallest[: self._model.target]))

    def _seat(self, shape: int) -> bool:
        needs = self._needs[shape]
        asked = needs > 0
        fits: Mask = self._usable[shape] & (self._emptied[:, asked] >= needs[asked]).all(axis=1)
        if not fits.any():
            return False
        lacking = np.maximum(needs[asked] - self._left[:, asked], 0) / needs[asked]
        short = np.where(fits, lacking.max(axis=1, initial=0.0), np.inf)
        node = int(short.argmin())
        self._emptied[node] -= needs
        self._left[node] -= needs
        self._minded[node] |= asked
        self.seats[node, shape] = self.seats.get((node, shape), 0) + 1
        return True

    def put_back(self) -> Counts:
        """The units that cannot stay beside the members, after the dearest for their room had their turn."""
        model = self._model
        units = [i for i, item in reversed([*enumerate(model.items)]) for _ in item.units]
        items = [model.items[i] for i in units]
        price = weights_of(model)[units] + Charges(model, items).harm()
        needs = np.maximum(self._needs.max(axis=0), 1)
        room = np.array([sum((np.array(used) / needs).max() for _, used in item.footprint) for item in items])
        gone: Counts = {}
        for u in np.lexsort((np.arange(len(units)), -price / np.maximum(room, 1e-9))).tolist():
            if not self._stays(units[u]):
                gone[units[u]] = gone.get(units[u], 0) + 1
        return gone

    def _stays(self, item: int) -> bool:
        footprint = [(node, np.array(used, np.int64)) for node, used in self._model.items[item].footprint]
        for node, used in footprint:
            minded = self._minded[node]
            if (self._emptied[node][minded] < used[minded]).any():
                return False
        for node, used in footprint:
            self._emptied[node] -= used
        return True
