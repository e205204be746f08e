"""A headless Chromium, driven over the DevTools protocol: what it logs, what it asks of a network, what it shows.

It is started by the test that needs it, with a profile of its own, and stopped by its pid.
"""

import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
START_S = 40
ANSWER_S = 30


def is_installed() -> bool:
    """Whether there is a browser to drive."""
    return any(map(shutil.which, NAMES))


needs_chromium = pytest.mark.skipif(
    not is_installed(), reason=f"no Chromium is installed (looked for {', '.join(NAMES)})"
)

KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "+": 187, "-": 189, "0": 48, "n": 78, "p": 80}


class Tab:
    """One page. Everything that the browser tells of it is kept in `told`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.told: list[tuple[str, dict[str, Any]]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its answer. Raises AssertionError when the browser refuses it."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        deadline = time.monotonic() + ANSWER_S
        while True:
            message = json.loads(self._socket.recv(timeout=deadline - time.monotonic()))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                answer: dict[str, Any] = message["result"]
                return answer
            if "method" in message:
                self.told.append((message["method"], message["params"]))

    def open(self, page: Path) -> None:
        """Open a file and wait until it is loaded and drawn."""
        self.told.clear()
        self.ask("Page.navigate", url=page.as_uri())
        deadline = time.monotonic() + ANSWER_S
        while not any(method == "Page.loadEventFired" for method, _ in self.told):
            message = json.loads(self._socket.recv(timeout=deadline - time.monotonic()))
            if "method" in message:
                self.told.append((message["method"], message["params"]))
        self.frame()

    def frame(self) -> None:
        """Wait until what was done is drawn."""
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def eval(self, expression: str) -> Any:
        """The value of a JavaScript expression on the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """One key, down and up, at what has the focus."""
        text = {"text": key} if len(key) == 1 else {}
        event = {"key": key, "windowsVirtualKeyCode": KEYS[key], "modifiers": 8 if shift else 0}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **event)
        self.frame()

    def mouse(self, kind: str, x: float, y: float, **fields: Any) -> None:
        """One mouse event: mousePressed, mouseMoved, mouseReleased or mouseWheel."""
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **fields)

    def complaints(self) -> list[str]:
        """What went to the console as an error or warning, exceptions, and violations of the page's policy."""
        found = []
        for method, params in self.told:
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
            elif method == "Log.entryAdded":
                found.append(f"{params['entry']['level']}: {params['entry']['text']}")
        return found

    def requests(self) -> list[str]:
        """Every URL that was asked for."""
        return [params["request"]["url"] for method, params in self.told if method == "Network.requestWillBeSent"]

    def picture(self, path: Path) -> None:
        """A screenshot of what is in the window."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def chromium(*flags: str) -> Iterator[Tab]:
    """A browser with one empty tab."""
    program = next(found for found in map(shutil.which, NAMES) if found)
    with tempfile.TemporaryDirectory() as profile:
        fixed = (
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions",
            "--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=1280,900",
        )  # fmt: skip
        process = subprocess.Popen(
            [program, *fixed, *flags, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            port = _port(Path(profile) / "DevToolsActivePort", process)
            with connect(_tab_url(port), max_size=None) as socket:
                yield Tab(socket)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(file: Path, process: "subprocess.Popen[bytes]") -> int:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, f"Chromium ended with {process.returncode}"
        if file.is_file() and "\n" in (text := file.read_text()):
            return int(text.split("\n")[0])
        time.sleep(0.02)
    raise AssertionError(f"Chromium opened no port within {START_S} s")


def _tab_url(port: int) -> str:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=ANSWER_S) as answer:
        tabs = json.load(answer)
    return str(next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page"))
