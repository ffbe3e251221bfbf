"""A real browser without a window, driven over the DevTools protocol.

It knows nothing of the page under test: it opens addresses, presses keys, and collects what went wrong.
"""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from reprieve.model.json import Json
from tests.browser.background import Background
from tests.browser.install_chromium import chromium

PATIENCE = 20.0
FLAGS = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--mute-audio",
    "--force-color-profile=srgb",
    "--remote-debugging-port=0",
)
# Virtual key codes; a letter has its own.
KEYS = {
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Backspace": 8,
}
CONTROL, SHIFT = 2, 8


class BrowserError(AssertionError):
    pass


class Connection:
    """The browser's one WebSocket: answers by number, events by session."""

    def __init__(self, http: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._http = http
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Json]] = {}
        self._listeners: dict[str, list[Callable[[str, Json], None]]] = defaultdict(list)
        self._reader = asyncio.ensure_future(self._read())

    @classmethod
    async def to(cls, address: str) -> "Connection":
        http = aiohttp.ClientSession()
        return cls(http, await http.ws_connect(address, max_msg_size=0))

    def listen(self, session: str, listener: Callable[[str, Json], None]) -> None:
        self._listeners[session].append(listener)

    async def send(self, method: str, session: str = "", **params: Any) -> Json:
        number = next(self._numbers)
        self._answers[number] = answer = asyncio.get_running_loop().create_future()
        await self._socket.send_json(
            {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        )
        return await asyncio.wait_for(answer, PATIENCE)

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                answer = self._answers.pop(said["id"])
                if answer.done():
                    continue
                if "error" in said:
                    answer.set_exception(BrowserError(said["error"]["message"]))
                else:
                    answer.set_result(said["result"])
            else:
                for listener in self._listeners[said.get("sessionId", "")]:
                    listener(said["method"], said["params"])

    async def close(self) -> None:
        self._reader.cancel()
        await self._socket.close()
        await self._http.close()


@dataclass
class Seen:
    """What a page did while it was open."""

    errors: list[str] = field(default_factory=list)
    failed_requests: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def hear(self, method: str, said: Json) -> None:
        match method:
            case "Runtime.exceptionThrown":
                told = said["exceptionDetails"]
                self.errors.append(str(told.get("exception", {}).get("description", told["text"])))
            case "Runtime.consoleAPICalled" if said["type"] in ("error", "warning", "assert"):
                self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in said["args"]))
            case "Log.entryAdded" if said["entry"]["level"] in ("error", "warning"):
                entry = said["entry"]
                text = f"{entry['text']} {entry.get('url', '')}".strip()
                (self.failed_requests if entry["source"] == "network" else self.errors).append(text)
            case "Network.requestWillBeSent":
                self.requests.append(said["request"]["url"])
            case _:
                pass


class Page:
    """One tab, in a profile of its own."""

    def __init__(
        self, background: Background, connection: Connection, session: str, target: str, context: str
    ):
        self._background = background
        self._connection = connection
        self._session = session
        self._target = target
        self._context = context
        self.seen = Seen()
        connection.listen(session, self.seen.hear)

    def send(self, method: str, **params: Any) -> Json:
        return self._background.run(self._connection.send(method, self._session, **params))

    def prepare(self, width: int, height: int) -> None:
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.send(f"{domain}.enable")
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def prefer(self, **features: str) -> None:
        """Media features, with underscores: ``prefers_color_scheme="dark"``."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.send("Emulation.setEmulatedMedia", features=named)

    def open(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def reload(self) -> None:
        """Nothing that is asked afterwards is answered by the document of before."""
        self.evaluate("window.isLeft = true, location.reload()")
        self.until("window.isLeft === undefined")

    def go_offline(self, *, offline: bool) -> None:
        self.send(
            "Network.emulateNetworkConditions",
            offline=offline,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, once it is there if it is a promise."""
        found = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            told = found["exceptionDetails"]
            raise BrowserError(told.get("exception", {}).get("description", told["text"]))
        return found["result"].get("value")

    def until(self, expression: str, patience: float = PATIENCE) -> Any:
        """The first value of the expression that is true."""
        end = time.monotonic() + patience
        while True:
            with contextlib.suppress(BrowserError):  # the document may be on its way
                if value := self.evaluate(expression):
                    return value
            if time.monotonic() > end:
                seen = "; ".join([*self.seen.errors, *self.seen.failed_requests][:5])
                raise BrowserError(f"never true in {patience:.0f} s: {expression} ({seen})")
            time.sleep(0.03)

    def press(self, *keys: str) -> None:
        """Key by key: ``"a"``, ``"Enter"``, ``"Control+Enter"``."""
        for key in keys:
            *held, last = key.split("+") if len(key) > 1 else [key]
            modifiers = (CONTROL if "Control" in held else 0) | (SHIFT if "Shift" in held else 0)
            text = {"Enter": "\r"}.get(last, last if len(last) == 1 else "")
            code = KEYS.get(last, ord(last.upper()[0]))
            common = {"key": last, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            if text and not modifiers & CONTROL:
                common["text"] = text
            self.send("Input.dispatchKeyEvent", type="keyDown", **common)
            common.pop("text", None)
            self.send("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def move(self, x: float, y: float) -> None:
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def accessible(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader meets."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored")
        ]

    def picture(self) -> bytes:
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        for method, params in (
            ("Target.closeTarget", {"targetId": self._target}),
            ("Target.disposeBrowserContext", {"browserContextId": self._context}),
        ):
            self._background.run(self._connection.send(method, **params))


class Browser:
    def __init__(self, background: Background) -> None:
        self._background = background
        self._profile = Path(tempfile.mkdtemp(prefix="reprieve-browser-"))
        program = chromium()
        assert program is not None, "there is no browser: `make test` installs one"
        self._process = subprocess.Popen(
            [
                *_ending_with_us(),
                program,
                *FLAGS,
                *_as_root(),
                f"--user-data-dir={self._profile}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it has children, which go with it
        )
        self._connection = background.run(Connection.to(self._address()))

    def _address(self) -> str:
        port = self._profile / "DevToolsActivePort"
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if port.exists() and len(lines := port.read_text().split("\n")) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            assert self._process.poll() is None, f"the browser ended at once ({self._process.returncode})"
            time.sleep(0.02)
        raise BrowserError(f"the browser did not listen within {PATIENCE:.0f} s")

    def page(self, width: int = 1440, height: int = 900) -> Page:
        page = self._background.run(self._attached())
        page.prepare(width, height)
        return page

    async def _attached(self) -> Page:
        context = (await self._connection.send("Target.createBrowserContext"))["browserContextId"]
        target = (
            await self._connection.send("Target.createTarget", url="about:blank", browserContextId=context)
        )["targetId"]
        session = (await self._connection.send("Target.attachToTarget", targetId=target, flatten=True))[
            "sessionId"
        ]
        return Page(self._background, self._connection, session, target, context)

    def close(self) -> None:
        self._background.run(self._connection.close())
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE)
        shutil.rmtree(self._profile, ignore_errors=True)


def _ending_with_us() -> list[str]:
    """A test run that is killed cleans nothing up: the kernel then ends the browser."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv else []


def _as_root() -> list[str]:
    """Its sandbox refuses root. The tests show it no page but our own."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []
