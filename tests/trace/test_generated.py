"""Converted functions exist in memory only, and their lines are still the user's."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc import Tensor, nn
from graphc.trace.conversion.convert import converted

_SCRIPT = """
import numpy as np
from graphc import Tensor, nn

class Net(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x * 3
        return x

print(Net()(Tensor(np.ones(2, np.float32))))
"""


def test_nothing_is_written_to_the_temporary_folder(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    # What malt's loader would import: whoever may write here could plant it.
    (folder / "__pycache__").mkdir()
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    folder.chmod(0o500)
    before = folder.stat().st_mtime_ns
    environment = os.environ | {"TMPDIR": str(folder), "GRAPHC_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[3. 3.]\n", "")
    assert folder.stat().st_mtime_ns == before
    assert [p.name for p in folder.iterdir()] == ["__pycache__"]


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return x.asnumpy()  # the line
    return x


class Net(nn.Cell):
    def construct(self, x: Any) -> Any:
        return branching(x)


def test_errors_name_the_users_line() -> None:
    with pytest.raises(Exception, match=r"test_generated.py:\d+  return x.asnumpy\(\)  # the line"):
        Net()(Tensor(np.ones(2, np.float32)))


def test_tracebacks_have_the_text_of_generated_lines() -> None:
    made = converted(branching)
    file = made.__code__.co_filename
    assert file.startswith("<graphc ")
    linecache.checkcache()
    with pytest.raises(AttributeError) as caught:
        made(3.0)
    lines = [f.line for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == file]
    assert any(".sum" in (line or "") for line in lines), lines


def test_functions_of_one_code_are_converted_once() -> None:
    def make(k: float) -> Any:
        def scale(x: Any) -> Any:
            if x.sum() > 0:
                return x * k
            return x

        return scale

    one, other = (converted(make(k)) for k in (2.0, 3.0))
    assert one.__code__ is other.__code__
    assert [f.__closure__ is not None for f in (one, other)] == [True, True]
