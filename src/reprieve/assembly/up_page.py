"""How does `reprieve up` serve the page of its cluster?"""

from contextlib import AbstractAsyncContextManager
from functools import partial

from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.serving_thread import BetweenSteps
from reprieve.page.documents import PageHead
from reprieve.page.feed import PictureFeed
from reprieve.page.live import LivePicture
from reprieve.page.sources import LiveFrames, PageGate, PageParts

# Commands import nothing of the page: what they need of it, they import from here.
__all__ = ["PictureFeed", "page_of_up"]

_NONE_YET = "the cluster is starting: nothing is known of it yet"


def page_of_up(feed: PictureFeed) -> AbstractAsyncContextManager[str]:
    """For as long as the context is open; yields the address. To be called in the scheduler's event loop."""
    take = partial(BetweenSteps(), feed.take)

    def parts(gate: PageGate) -> PageParts:
        live = LivePicture(take)
        return PageParts(PageHead("local", "up"), LiveFrames(live, _NONE_YET), gate, live)

    return loopback_page(parts, "`reprieve up` printed")
