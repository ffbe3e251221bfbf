"""An event loop in a thread of its own, so that plain tests can use a browser and a server at once."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 30.0


class Background:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, T], patience: float = PATIENCE) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patience)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
