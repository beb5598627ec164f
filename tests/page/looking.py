"""Opening a page about a step in Chromium, and what tests ask of it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.report.browser import Browser

READY = "document.documentElement.dataset.ready"


def opened(
    browser: Browser, page: Path, width: int = 1440, height: int = 900, *, dark: bool = False, at: str = ""
) -> Browser:
    """Show a page from the start. at: where a link leads, "#%42"."""
    browser.call("Page.navigate", url="about:blank")
    browser.open(page, width, height, dark=dark, mobile=width < 600)
    wait_until_ready(browser)
    if at:
        follow(browser, at)
    return browser


def wait_until_ready(browser: Browser) -> None:
    """Until the page has unpacked itself."""
    for _ in range(2000):
        if browser.run(READY) == "1" or browser.said:
            break
        time.sleep(0.01)
    assert browser.run(READY) == "1", browser.said


def follow(browser: Browser, link: str) -> None:
    browser.run(
        "new Promise((done) => { addEventListener('hashchange', () => done(1), {once: true});"
        f" location.hash = {link!r}; }})"
    )
    browser.frame()


def press(browser: Browser, *keys: str) -> None:
    for key in keys:
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        browser.call("Input.dispatchKeyEvent", type="keyUp", key=key)
    browser.frame()


def texts(browser: Browser, selector: str) -> list[str]:
    """The texts of what a selector finds, from above."""
    found: list[str] = browser.run(
        f"[...document.querySelectorAll({selector!r})].map((e) => [e.getBoundingClientRect().top, e.textContent])"
        ".sort((a, b) => a[0] - b[0]).map((pair) => pair[1])"
    )
    return found


def click(browser: Browser, expression: str) -> None:
    """Click in the middle of an element, as a mouse does."""
    x, y = browser.run(
        f"(() => {{ const r = ({expression}).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()"
    )
    browser.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseReleased", x, y, button="left", clickCount=1)
    browser.frame()


def row(text: str) -> str:
    """An expression for the row whose Cell is called so."""
    return f"[...document.querySelectorAll('.row')].find((r) => r.querySelector('.label')?.textContent === {text!r})"


def panel(browser: Browser) -> str:
    found: str = browser.run("document.getElementById('side').innerText")
    return found
