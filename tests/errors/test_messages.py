"""What users read when shapes, dtypes or Python on traced tensors are wrong: the whole text, class and traceback."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import CODES, GraphcError, Loc, ShapeError
from graphc.errors.source_lines import find_file, source_line
from tests.errors import messages
from tests.errors.messages import X, cell, compiled, failure

HERE = "tests/errors/test_messages.py"


def check(error, expected, *classes):
    messages.check(error, HERE, expected, *classes)


# ---- shapes


def test_inner_dimensions():
    def construct(self, x):
        y = ops.exp(x)
        return ops.matmul(y, self.w)

    error = compiled(construct, X, w=Parameter(np.ones((5, 2), np.float32), name="w"))
    check(
        error,
        f"""
[GC101] MatMul: inner dimensions differ, 3 (from x) != 5 (from y)
  FILE  return ops.matmul(y, self.w)
               ^^^^^^^^^^^^^^^^^^^^^
  x: f32[2,3]  made by Exp at {HERE}:{error.loc.line - 1}
  y: f32[5,2]  Parameter 'w'
""",
        ValueError,
    )
    assert error.loc.line == construct.__code__.co_firstlineno + 2


def test_broadcasting():
    def construct(self, image, mean):
        return image - mean

    error = compiled(construct, np.ones((8, 3, 5), np.float32), np.ones((3, 1, 4), np.float32))
    check(
        error,
        """
[GC102] Sub: shapes (8, 3, 5) and (3, 1, 4) cannot be broadcast together
  FILE  return image - mean
               ^^^^^^^^^^^^
  8  3  5
  3  1  4
  ^     ^
  x: f32[8,3,5]  input 'image'
  y: f32[3,1,4]  input 'mean'
""",
        ValueError,
    )


def test_reshape():
    def construct(self, x):
        return x.reshape(4, 2)

    check(
        compiled(construct, X),
        """
[GC103] Reshape: f32[2,3] has 6 elements, shape (4, 2) needs 8
  FILE  return x.reshape(4, 2)
               ^^^^^^^^^^^^^^^
  x: f32[2,3]  input 'x'
  help: one size may be -1: it follows from the others
""",
        ValueError,
    )


def test_a_window_larger_than_its_input():
    def construct(self, x):
        return self.conv(x)

    image = np.ones((1, 1, 3, 3), np.float32)
    check(
        compiled(construct, image, conv=nn.Conv2d(1, 2, 5, pad_mode="valid")),
        """
[GC104] Conv2D: the window does not fit: height is 3 + 0 padding, the window reaches over 5
  FILE  return self.conv(x)
               ^^^^^^^^^^^^
  in conv
  x: f32[1,1,3,3]  input 'x'
  weight: f32[2,1,5,5]  Parameter 'conv.weight'
  help: use a smaller kernel or dilation, more padding (pad_mode='same'), or a larger input
""",
        ValueError,
    )


# ---- dtypes


def test_dtypes_that_do_not_go_together():
    def construct(self, x, y):
        return ops.matmul(x, y)

    check(
        compiled(construct, X, np.ones((3, 2), np.int32)),
        """
[GC110] MatMul: operands have different dtypes: f32[2,3], i32[3,2]
  FILE  return ops.matmul(x, y)
               ^^^^^^^^^^^^^^^^
  x: f32[2,3]  input 'x'
  y: i32[3,2]  input 'y'
  help: cast the i32[3,2], for example with ops.cast(x, graphc.float32)
""",
        TypeError,
    )


@pytest.mark.parametrize(
    ("mine", "other", "help"),
    [
        ("float64", "float32", "cast the f64[2,3], for example with ops.cast(x, graphc.float32)"),
        ("float32", "float64", "cast the f64[3,2], for example with ops.cast(x, graphc.float32)"),
        ("int32", "float16", "cast the i32[2,3], for example with ops.cast(x, graphc.float16)"),
    ],
)
def test_what_is_cast_to_what(mine, other, help):
    assert compiled(lambda self, x, y: ops.matmul(x, y), X.astype(mine), X.T.astype(other)).help == help


def test_labels_of_the_wrong_dtype():
    def construct(self, x, label):
        return self.loss(x, label)

    check(
        compiled(construct, X, np.ones(2, np.float32), loss=nn.SoftmaxCrossEntropyWithLogits(sparse=True)),
        """
[GC111] SparseSoftmaxCrossEntropyWithLogits: labels are f32[2], expected int32 or int64 class numbers
  FILE  return self.loss(x, label)
               ^^^^^^^^^^^^^^^^^^^
  in loss
  logits: f32[2,3]  input 'x'
  labels: f32[2]  input 'label'
  help: labels that are probabilities need sparse=False
""",
        TypeError,
    )


def test_class_numbers_where_probabilities_are_expected():
    def construct(self, x, label):
        return self.loss(x, label)

    error = compiled(construct, X, np.ones(2, np.int32), loss=nn.SoftmaxCrossEntropyWithLogits(sparse=False))
    assert error.code == "GC111"
    assert error.help == "did you mean sparse=True?"
    assert isinstance(error, TypeError)


def test_a_dtype_without_a_kernel():
    def construct(self, x):
        y = ops.cast(x, graphc.complex64)
        return ops.prod(y)

    check(
        compiled(construct, X),
        """
[GC181] ReduceProd has no kernel for complex64: it is computed by eager calls only
  FILE  return ops.prod(y)
               ^^^^^^^^^^^
  help: graphc.set_context(mode=graphc.PYNATIVE_MODE) runs Cells and gradients op by op
""",
        RuntimeError,
    )


# ---- Python on traced tensors


def test_an_if_that_cannot_be_converted():
    space = {}
    exec("def construct(self, x):\n    if x.sum() > 0:\n        return x\n    return -x\n", space)
    check(
        compiled(space["construct"], X),
        """
[GC120] the truth value of a traced tensor is not known while the Cell is compiled
  <string>:2
  the tensor is b1[]
  there is no source of this code, from which `if` and `while` on tensors are made
  help: save the code to a file, and import or run that
""",
        RuntimeError,
        TypeError,
    )


def test_branches_of_different_structure():
    def construct(self, x):
        return ops.cond(x.sum() > 0, lambda: x, lambda: (x, x))

    check(
        compiled(construct, X),
        """
[GC122] the branches of ops.cond return different structures
  FILE  return ops.cond(x.sum() > 0, lambda: x, lambda: (x, x))
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  if true:  a tensor
  if false: tuple of 2 (a tensor, a tensor)
  help: return the same number of tensors, and the same Python values, from both
""",
        RuntimeError,
    )


def test_branches_of_different_shapes():
    def construct(self, x):
        return ops.cond(x.sum() > 0, lambda: (x, x), lambda: (x, x.T))

    check(
        compiled(construct, X),
        """
[GC122] the branches of a conditional return tensors of different shapes or dtypes
  FILE  return ops.cond(x.sum() > 0, lambda: (x, x), lambda: (x, x.T))
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  result 1: f32[2,3] if true, f32[3,2] if false
  help: make them alike with ops.reshape, ops.broadcast_to or ops.cast
""",
        ValueError,
    )


def test_a_name_set_in_one_branch():
    def construct(self, x):
        if x.sum() > 0:
            y = x
        return y

    error = compiled(construct, X)
    assert error.code == "GC121"
    assert error.message == "'y' is not set in the `else` branch"
    assert error.help == "set y before the `if`, or in both branches"


ASKED = {
    "float()": lambda self, x: x * float(x.sum()),
    "int()": lambda self, x: x * int(x.sum()),
    "asnumpy()": lambda self, x: x.asnumpy(),
    "an index": lambda self, x: [x, x][x.sum()],
}


@pytest.mark.parametrize("asked", ASKED)
def test_values_that_are_not_known(asked):
    error = compiled(ASKED[asked], X)
    assert error.message == f"{asked} on a traced tensor: its value is not known while the Cell is compiled"
    assert error.code == "GC130"
    assert error.help == (
        "ops.stack(items)[k] reads an item of a tuple or list that only the run chooses"
        if asked == "an index"
        else "return it from construct and read it there, or keep the computation in graphc.ops"
    )
    assert isinstance(error, RuntimeError)
    assert isinstance(error, TypeError)
    assert error.loc.file == HERE


@pytest.mark.parametrize(
    "construct",
    [
        lambda self, x: np.tanh(x),
        lambda self, x: np.sum(x),
        lambda self, x: np.mean(x, axis=0),
        lambda self, x: np.concatenate([x, x]),
        lambda self, x: np.where(x > 0, x, 1),
        lambda self, x: np.asarray(x),
        lambda self, x: np.reshape(x, (6,)),
    ],
)
def test_numpy_functions(construct):
    error = compiled(construct, X)
    assert error.message == "a NumPy function was applied to a traced tensor"
    assert error.code == "GC131"
    assert error.help == "use the function of the same name in graphc.ops"
    assert isinstance(error, TypeError)
    assert error.loc.file == HERE


def test_numpy_functions_work_on_tensors_with_contents():
    x = Tensor(X)
    assert np.sum(x) == 15
    np.testing.assert_array_equal(np.concatenate([x, x]), np.concatenate([X, X]))
    np.testing.assert_array_equal(np.mean(x, axis=0), X.mean(0))


def test_a_leaked_tensor():
    kept = []

    def keep(self, x):
        kept.append(x * 2)
        return x

    def use(self, x):
        return x + kept[0]

    graphc.compile(cell(keep), X)
    error = compiled(use, X)
    check(
        error,
        f"""
[GC132] a traced tensor is used outside the trace that made it
  FILE  return x + kept[0]
               ^^^^^^^^^^^
  x: f32[2,3]  input 'x'
  y: f32[2,3]  made by Mul at {HERE}:{keep.__code__.co_firstlineno + 1}
  help: return it from construct, or assign it to a Parameter
""",
        RuntimeError,
    )
    for action in (lambda: kept[0] + 1, lambda: kept[0].asnumpy(), lambda: float(kept[0])):
        assert failure(action).code == "GC132"


def test_a_tensor_that_leaks_from_a_branch():
    def construct(self, x):
        kept = []

        def branch():
            kept.append(x * 2)
            return x

        return ops.cond(x.sum() > 0, branch, lambda: x) + kept[0]

    error = compiled(construct, X)
    assert error.code == "GC124"
    assert error.message == "kept is changed in place under a condition that is known only when the step runs"


def test_an_attribute_set_in_construct():
    def construct(self, x):
        self.count += 1
        return x

    check(
        compiled(construct, X, count=0),
        """
[GC133] self.count holds something else after each run than a step was compiled for
  FILE  self.count += 1
        ^^^^^^^^^^
  help: call the cell itself, which compiles for what it holds; or use a Parameter for what changes
""",
        RuntimeError,
    )

    def construct(self, x):
        self.act = nn.ReLU()
        return self.act(x)

    check(
        compiled(construct, X),
        """
[GC133] self.act is set inside construct: Python runs once, when the Cell is compiled, not at every step
  FILE  self.act = nn.ReLU()
        ^^^^^^^^
  help: use a local variable, or a Parameter and ops.assign for state that changes at every step
""",
    )


# ---- errors themselves


def test_tracebacks_hold_the_users_frames():
    def inner(self, x):
        return x.reshape(4, 2)

    def outer(self, x):
        return self.block(x)

    net = cell(outer, block=cell(inner))
    frames = traceback.extract_tb(failure(graphc.compile, net, X).__traceback__)
    assert [f.name for f in frames] == ["failure", "outer", "inner"]
    with debug(full_traceback=True):
        everything = traceback.extract_tb(failure(graphc.compile, net, X).__traceback__)
    assert len(everything) > len(frames) + 5


def test_calling_a_cell_raises_the_same_errors():
    net = cell(lambda self, x: x.reshape(4, 2))
    error = failure(net, Tensor(X))
    assert error.code == "GC103"
    assert error.loc.file == HERE


def test_errors_as_data():
    error = failure(graphc.compile, cell(lambda self, x: x.reshape(4, 2)), X)
    data = json.loads(json.dumps(error.to_json()))
    assert data == {
        "error": "ShapeError",
        "code": "GC103",
        "message": error.message,
        "file": HERE,
        "line": error.loc.line,
        "details": ["x: f32[2,3]  input 'x'"],
        "help": "one size may be -1: it follows from the others",
        "nodes": [],
    }


def test_lines_of_pythons_own_library_are_none_of_the_users():
    wide = Tensor(np.ones((2, 3), np.float32))
    with ThreadPoolExecutor(1) as pool, pytest.raises(ShapeError) as from_thread:
        pool.submit(ops.matmul, wide, wide).result()
    assert from_thread.value.loc is None  # The thread runs nothing else.
    with pytest.raises(ShapeError) as from_exit, contextlib.ExitStack() as stack:
        stack.callback(ops.matmul, wide, wide)
    assert from_exit.value.loc.file.endswith("test_messages.py")
    with pytest.warns(FutureWarning) as told, contextlib.ExitStack() as stack:
        stack.callback(nn.Dense(2, 2).state_dict, {})
    assert told[0].filename == __file__


def test_the_caret_counts_characters_not_bytes(tmp_path, monkeypatch):
    path = tmp_path / "net.py"
    path.write_text("def construct(self, größe):\n    return (größe, größe.reshape(4, 2))\n", encoding="utf-8")
    space = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    monkeypatch.chdir(tmp_path)
    lines = str(compiled(space["construct"], X)).splitlines()
    assert lines[1] == "  net.py:2  return (größe, größe.reshape(4, 2))"
    assert lines[2] == " " * lines[1].index("größe.reshape") + "^" * len("größe.reshape(4, 2)")


def test_modules_that_are_imported_while_a_file_is_searched(tmp_path, monkeypatch):
    """Asking a module that loads lazily where it is from may import others."""

    class Lazy(ModuleType):
        asked = 0

        def __getattr__(self, name):
            if name == "__file__":
                type(self).asked += 1
                sys.modules[f"another_{self.asked}"] = ModuleType("another")
            raise AttributeError(name)

    known = sys.modules.copy()
    file = tmp_path / "deep" / "searched_for.py"
    found = ModuleType("found")
    found.__file__ = str(file)
    monkeypatch.setattr(sys, "modules", {"lazy": Lazy("lazy"), **known, "found": found})
    assert find_file(os.path.join("deep", "searched_for.py")) == str(file)
    assert Lazy.asked == 1
    assert "another_1" in sys.modules


def test_an_error_without_a_place_or_a_help_is_one_line():
    assert str(GraphcError("something")) == "[GC100] something"
    assert str(GraphcError("something", loc=Loc("gone.py", 3))) == "[GC100] something\n  gone.py:3"


@pytest.mark.parametrize("code", CODES)
def test_codes_are_explained(code):
    assert CODES[code].endswith(".")
    assert code.startswith("GC")
    assert len(code) == 5


def test_a_line_is_that_of_the_file_of_now(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in ("x = 1\n", "of another length = 2\n"):
        (tmp_path / "shown.py").write_text(text)
        assert source_line("shown.py", 1) == text.rstrip()
