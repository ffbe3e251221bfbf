"""Does a text match a regular expression in Go's syntax? In time linear in the text, whatever the pattern.

A pattern becomes a nondeterministic automaton (Thompson's construction), and a search follows all its states
at once, so nothing backtracks. Every step is paid from a budget. This module must not know what a pattern is
for.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from reprieve.cluster.apiserver.cost import CostBudget
from reprieve.cluster.apiserver.pattern_syntax import (
    WORD_CHARS,
    Alternation,
    Assertion,
    CharSet,
    Concatenation,
    Node,
    PatternError,
    Repetition,
    parse,
)

_MOST_INSTRUCTIONS = 5000  # of one pattern: repetitions of repetitions multiply


class Step(NamedTuple):
    """Takes one character of the set."""

    chars: CharSet
    after: int


class Check(NamedTuple):
    assertion: Assertion
    after: int


class Fork(NamedTuple):
    """Goes on at all of them."""

    after: tuple[int, ...]


class Accept(NamedTuple):
    pass


Instruction = Step | Check | Fork | Accept


class Before(Enum):
    """What of the last character matters to assertions."""

    NOTHING = "the text begins here"
    NEWLINE = "a new line begins here"
    WORD = "it belongs to a word"
    OTHER = "anything else"


@dataclass(frozen=True, slots=True)
class Automaton:
    program: tuple[Instruction, ...]
    start: int

    def __len__(self) -> int:
        return len(self.program)

    def search(self, text: str, budget: CostBudget) -> bool:
        """Whether the pattern matches anywhere in the text."""
        budget.spend(1 + len(text))
        run = _Run(self, budget)
        state = run.first
        for char in text:
            state = state.moves.get(char) or run.moved(state, char)
            if state.accepts:
                return True
        return run.moved(state, "").accepts


@dataclass(slots=True, eq=False)
class _State:
    """Places in the program before a character, and the states that characters lead to, as far as known."""

    places: frozenset[int]
    before: Before
    accepts: bool = False
    moves: dict[str, "_State"] = field(default_factory=dict)


_ACCEPTED = _State(frozenset(), Before.OTHER, accepts=True)


class _Run:
    """One search. What it learns of the automaton is not kept: so its cost depends on nothing else."""

    def __init__(self, automaton: Automaton, budget: CostBudget) -> None:
        self._automaton = automaton
        self._budget = budget
        self._states: dict[tuple[frozenset[int], Before], _State] = {}
        self.first = self._state(frozenset(), Before.NOTHING)

    def _state(self, places: frozenset[int], before: Before) -> _State:
        key = (places, before)
        if key not in self._states:
            self._states[key] = _State(places, before)
        return self._states[key]

    def moved(self, state: _State, char: str) -> _State:
        """``char``: empty at the end of the text."""
        steps = self._reached(state, char)
        if steps is None:
            found = _ACCEPTED
        else:
            self._budget.spend(sum(step.chars.size for step in steps))
            places = frozenset(step.after for step in steps if char and step.chars.has(char))
            found = self._state(places, _before(char))
        state.moves[char] = found
        return found

    def _reached(self, state: _State, char: str) -> list[Step] | None:
        """The steps that can be taken next; None if the pattern matches here already."""
        program, waiting = self._automaton.program, [*state.places, self._automaton.start]
        seen = set(waiting)
        steps: list[Step] = []
        while waiting:
            instruction = program[waiting.pop()]
            after: Iterable[int] = ()
            match instruction:
                case Accept():
                    return None
                case Step():
                    steps.append(instruction)
                case Check(assertion, place) if _holds(assertion, state.before, char):
                    after = (place,)
                case Fork(after):
                    pass
            fresh = [place for place in after if place not in seen]
            seen.update(fresh)
            waiting += fresh
            self._budget.spend(1 + len(fresh))
        return steps


def _before(char: str) -> Before:
    if char == "\n":
        return Before.NEWLINE
    return Before.WORD if char and WORD_CHARS.has(char) else Before.OTHER


def _holds(assertion: Assertion, before: Before, char: str) -> bool:
    is_boundary = (before is Before.WORD) != (bool(char) and WORD_CHARS.has(char))
    match assertion:
        case Assertion.TEXT_BEGIN:
            return before is Before.NOTHING
        case Assertion.TEXT_END:
            return char == ""
        case Assertion.LINE_BEGIN:
            return before in (Before.NOTHING, Before.NEWLINE)
        case Assertion.LINE_END:
            return char in ("", "\n")
        case Assertion.WORD_BOUNDARY:
            return is_boundary
        case Assertion.NO_WORD_BOUNDARY:
            return not is_boundary


# --- compiling -------------------------------------------------------------------------------------


class _Compiler:
    """Emits a program from its end to its beginning, so that each instruction knows what comes after it."""

    def __init__(self) -> None:
        self.program: list[Instruction] = [Accept()]
        self._calls = 0

    def emit(self, node: Node, after: int) -> int:
        """Where the program of the node begins."""
        self._calls += 1  # an empty group emits nothing, however often it is repeated
        if self._calls > _MOST_INSTRUCTIONS:
            raise PatternError(f"it has more than {_MOST_INSTRUCTIONS} steps")
        match node:
            case CharSet():
                return self._add(Step(node, after))
            case Assertion():
                return self._add(Check(node, after))
            case Concatenation(parts):
                for part in reversed(parts):
                    after = self.emit(part, after)
                return after
            case Alternation(options):
                return self._add(Fork(tuple(self.emit(option, after) for option in options)))
            case Repetition():
                return self._repeated(node, after)

    def _repeated(self, node: Repetition, after: int) -> int:
        if node.most is None:
            loop = self._add(Fork(()))
            body = self.emit(node.what, loop)
            self.program[loop] = Fork((body, after))
            begin, left = (body, node.least - 1) if node.least else (loop, 0)
        else:
            begin, left = after, node.least
            for _ in range(node.most - node.least):
                # Each optional copy leads straight to the end: a match has one state in them and not many.
                begin = self._add(Fork((self.emit(node.what, begin), after)))
        for _ in range(left):
            begin = self.emit(node.what, begin)
        return begin

    def _add(self, instruction: Instruction) -> int:
        self.program.append(instruction)
        return len(self.program) - 1


@lru_cache(maxsize=128)
def compiled(pattern: str) -> Automaton:
    """Raises PatternError for a text that is no regular expression, or one too large."""
    compiler = _Compiler()
    start = compiler.emit(parse(pattern), 0)
    return Automaton(tuple(compiler.program), start)


class Patterns:
    """The patterns of one request: each is compiled, and paid for, once. Raises PatternError."""

    def __init__(self) -> None:
        self._known: dict[str, Automaton | str] = {}

    def get(self, pattern: str, budget: CostBudget) -> Automaton:
        if pattern not in self._known:
            budget.spend(1 + len(pattern))
            self._known[pattern] = _compiled_or_reason(pattern)
            budget.spend(len(self._known[pattern]))
        found = self._known[pattern]
        if isinstance(found, str):
            raise PatternError(found)
        return found

    def search(self, pattern: str, text: str, budget: CostBudget) -> bool:
        return self.get(pattern, budget).search(text, budget)


def _compiled_or_reason(pattern: str) -> Automaton | str:
    try:
        return compiled(pattern)
    except PatternError as error:
        return str(error)
