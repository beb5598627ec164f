"""Each test of data sets begins with MindSpore's settings, and leaves no worker behind."""

from __future__ import annotations

import multiprocessing
import threading

import pytest

from graphc.dataset import config


def alive():
    """Threads and processes of data sets."""
    threads = [t.name for t in threading.enumerate() if t.name.startswith("graphc-dataset")]
    return threads + [p.name for p in multiprocessing.active_children()]


@pytest.fixture(autouse=True)
def _alone():
    before = dict(config._settings)
    yield
    config._settings.update(before)
    assert alive() == []
