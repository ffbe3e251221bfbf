"""Numbers of options within a range: NaN, which no comparison refuses, and infinity are in none."""

import math

import click


class FiniteRange(click.FloatRange):
    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not in the range {self._describe_range()}", param, ctx)
        return found
