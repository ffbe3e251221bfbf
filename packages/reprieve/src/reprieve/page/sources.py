"""What a server of the page needs: frames of a picture, answers to questions, and which reader may see what.

Protocols and records.
"""

from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol

from aiohttp import web

from reprieve.model.json import Json
from reprieve.page.documents import PageHead
from reprieve.page.live import LivePicture
from reprieve.page.picture import Picture
from reprieve.report.hidden_names import MayGet, Named, may_get_all

_PATIENCE = 1.0  # seconds for which a picture waits for the scheduler


class PageRefusedError(Exception):
    """Why a request is not answered: a sentence, and an HTTP status."""

    def __init__(self, sentence: str, status: int = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(sentence)
        self.status = int(status)


@dataclass(frozen=True, slots=True)
class PictureFrame:
    """``known_since``: if not all that came before is known."""

    picture: Picture
    revision: int = 0
    known_since: float | None = None


class FrameSource(Protocol):
    async def frame(self, at: float | None) -> PictureFrame:
        """The picture at a moment, or the newest. Raises PageRefusedError."""

    async def history(self) -> Json | None:
        """Which moments there are; None if there is no history."""


@dataclass(frozen=True, slots=True)
class WhyQuestion:
    """Only one is not empty. All but ``decision`` are NAMESPACE/NAME; ``tree``: a CompositePodGroup."""

    pod: str = ""
    group: str = ""
    tree: str = ""
    decision: str = ""


class PageQuestions(Protocol):
    """Each raises PageRefusedError. ``at``: a moment of the history; None for now."""

    async def why(self, asked: WhyQuestion, at: float | None) -> Json: ...

    async def exposure(self, namespace: str, at: float | None) -> Json: ...

    async def whatif(self, manifests: bytes, at: float | None) -> Json: ...

    async def example(self, at: float | None) -> Json:
        """A manifest that can be asked about in this cluster, as ``yaml``."""

    async def apply(self, manifests: bytes) -> Json: ...


class ReaderSight(Protocol):
    """What one reader may see."""

    @property
    def reader(self) -> str | None:
        """Requests of the same reader count together; None: they are not counted."""

    async def of(self, named: Collection[Named]) -> MayGet:
        """Whether it may get each of these kinds in these namespaces; ``may_get_all`` if it may get all."""

    async def holds(self) -> bool:
        """Whether what it was told is still right; asked now and then while it reads on."""


class SeesAll:
    """What a reader sees on a machine of its own."""

    reader: str | None = None

    async def of(self, named: Collection[Named]) -> MayGet:
        return may_get_all

    async def holds(self) -> bool:
        return True


class PageGate(Protocol):
    async def enter(self, request: web.Request) -> ReaderSight:
        """Raises PageRefusedError."""

    def check_origin(self, request: web.Request) -> None:
        """Raises PageRefusedError if the request comes from a page of another site."""


@dataclass(frozen=True, slots=True)
class PageParts:
    """``live``: None for a history alone. ``questions``: None if none are answered.

    ``tasks``: what runs besides while the page is served, by name.
    """

    head: PageHead
    frames: FrameSource
    gate: PageGate
    live: LivePicture | None = None
    questions: PageQuestions | None = None
    tasks: Mapping[str, Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=dict)


@dataclass(slots=True)
class LiveFrames:
    """The newest picture of a scheduler, and no history."""

    live: LivePicture
    none_yet: str  # what is said before anything is known

    async def frame(self, at: float | None) -> PictureFrame:
        if at is not None:
            raise PageRefusedError(
                "only the present is known here: there is no history", HTTPStatus.NOT_FOUND
            )
        await self.live.refresh_within(_PATIENCE)
        if not self.live.ring.has_begun:
            raise PageRefusedError(self.none_yet, HTTPStatus.SERVICE_UNAVAILABLE)
        return PictureFrame(self.live.picture, self.live.ring.revision)

    async def history(self) -> Json | None:
        return None
