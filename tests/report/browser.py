"""A headless Chromium, spoken to over a pipe in its own protocol (chromedevtools.github.io/devtools-protocol): no driver, no
package. Runs without network, and without a sandbox, which the root of a container lacks: it opens nothing but this
project's pages.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

#: The protocol is spoken on the descriptors 3 and 4.
_PIPES = """
import fcntl, os, sys
for number, wanted in [(fcntl.fcntl(int(a), fcntl.F_DUPFD, 10), 3 + i) for i, a in enumerate(sys.argv[1:3])]:
    os.dup2(number, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""


def chromium() -> str | None:
    """Where there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One window, which opens one page after the other. Use in a `with` block."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, self._write = os.pipe()
        self._read, theirs = os.pipe()
        command = [
            str(chromium()), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PIPES, str(ours), str(theirs), *command],
            pass_fds=(ours, theirs),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours)
        os.close(theirs)
        self._buffer, self._number = b"", 0
        self._session: str | None = None
        #: What the page has said on its console, and what its policy has refused; addresses that were asked for.
        self.said: list[str] = []
        self.asked: list[str] = []
        self._loaded = False
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def open(
        self, page: Path, width: int = 1440, height: int = 900, *, dark: bool = False, mobile: bool = False
    ) -> Self:
        """Show a page in a window of that many pixels. dark: what the reader's system prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.said, self.asked, self._loaded = [], [], False
        self.call("Page.navigate", url=page.absolute().as_uri())
        while not self._loaded:
            self._note(self._next())
        self.frame()
        return self

    def call(self, method: str, **params: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._read], [], [], 60)[0], "the browser says nothing"
            data = os.read(self._read, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event["method"] == "Runtime.consoleAPICalled":
            self.said.append(str(params["args"]))
        elif event["method"] == "Runtime.exceptionThrown":
            self.said.append(str(params["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded":
            self.said.append(params["entry"]["text"])
        elif event["method"] == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif event["method"] == "Page.loadEventFired":
            self._loaded = True
        elif event["method"] == "Page.javascriptDialogOpening":
            self.said.append(f"dialog {params['message']}")

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def frame(self) -> None:
        """Wait until the page has been drawn anew."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, x: float, y: float, to: float) -> None:
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for part in range(1, 5):
            self.mouse("mouseMoved", x + (to - x) * part / 4, y, button="left", buttons=1)
        self.mouse("mouseReleased", to, y, button="left", clickCount=1)
        self.frame()

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """A PNG of the page, or of the window."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))
        return path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        # It ends when nobody speaks to it any more.
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()
