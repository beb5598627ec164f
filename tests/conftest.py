"""Golden files, wherever in here, are collected by graphc's own plugin, installed or not."""

import signal
import sys
from collections.abc import Iterator

import pytest

import graphc
from graphc import context

pytest_plugins = ["graphc.testing.plugin", "pytester"]

# A shell lets what it runs in the background ignore Ctrl-C, and programs that a test starts and interrupts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts that commands run are `__main__` from then on; the next test has its own again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def mode_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The mode is afterwards what it was, set or not."""
    monkeypatch.setattr(context, "_chosen", set(context._chosen))
    before = graphc.get_context("mode")
    yield
    graphc.set_context(mode=before)
