"""Values of flags, as Go's flag packages accept them: so kube-scheduler's command lines work unchanged."""

import ipaddress
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from reprieve.model.formatting import quoted

Command = TypeVar("Command", bound=Callable[..., Any])
Flags = dict[str, Any]


class Verbosity(click.ParamType[int]):
    """Go's flags take -v=2 as well as -v 2."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("=")
        if not text.isascii() or not text.isdigit():
            self.fail(f"expected a whole number, got {quoted(text)}", param, ctx)
        return int(text)


class Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from reprieve.config.decoding import INT32_MAX, Seconds  # not for --help, which would load numpy

        if isinstance(value, float):
            return value
        seconds = Seconds.parse(str(value))
        if seconds is None:
            limit = f" of at most {INT32_MAX}s" if Seconds.read(str(value)) is not None else ""
            text = f"expected a duration such as 10s or 1m30s{limit}, got {quoted(str(value))}"
            self.fail(text, param, ctx)
        return float(seconds)


class File(click.ParamType["Path | None"]):
    """An empty value means none, as in --tls-cert-file= ."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | None:
        return Path(value) if str(value) else None


class Address(click.ParamType[str]):
    """An IP address and no host name: nothing is resolved."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(value and ipaddress.ip_address(value))
        except ValueError:
            self.fail(f"expected an IP address, got {quoted(str(value))}", param, ctx)


class Listed(click.ParamType[tuple[str, ...]]):
    """Values separated by commas."""

    name = "list"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(part for piece in str(value).split(",") if (part := piece.strip()))


def switch(flag: str, *, default: bool | None = None, name: str = "", **more: Any) -> Callable[[Any], Any]:
    """A boolean flag: true without a value, or =true or =false."""
    names = (flag, name) if name else (flag,)
    return click.option(
        *names, type=bool, is_flag=False, flag_value=True, default=default, metavar="BOOL", **more
    )


def text_flag(
    flag: str, metavar: str, text: str, *, name: str = "", repeatable: bool = False
) -> Callable[[Command], Command]:
    """A flag with a text, which is empty if the flag is not given. ``text``: its help."""
    names = (flag, name) if name else (flag,)
    if repeatable:
        return click.option(*names, multiple=True, metavar=metavar, help=text)
    return click.option(*names, default="", metavar=metavar, help=text)


def combined_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options as one decorator, in the order of `--help`."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class FiniteRange(click.FloatRange):
    """A range has neither infinity nor NaN, which no comparison refuses."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not in the range {self._describe_range()}", param, ctx)
        return found
