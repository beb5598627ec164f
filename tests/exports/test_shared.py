"""step.export: a C program trains with a step as Python does, bit for bit; the library's functions; what is refused."""

from __future__ import annotations

import ctypes
import dataclasses
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from unittest.mock import patch

import numba
import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.dataset import load_digits
from graphc.debug import debug
from graphc.errors import ArgumentTypeError, ArgumentValueError, ExportError
from graphc.examples.lenet import LeNet5
from graphc.ir.op import _REGISTRY
from graphc.lower import cost
from graphc_codegen.program import CodegenError
from graphc_codegen.shared_object.library import identifiers
from graphc_codegen.target import host

COMPILER = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
PROGRAM = Path(__file__).with_name("lenet.c")
OK, MEMORY, CPU, VERSION, ARGUMENT, BUSY, THREAD, FILE, FAILED = range(9)


def lenet_step():
    graphc.set_seed(3)
    net = nn.WithLossCell(LeNet5(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
    cell = nn.TrainOneStepWithLossScaleCell(net, optimizer, nn.DynamicLossScaleUpdateCell(2.0**14, 2, 10))
    return cell.set_train()


def batches():
    """One epoch of digits; one batch overflows."""
    digits = load_digits()
    count = len(digits.train_images) // 32
    order = np.random.default_rng(0).permutation(len(digits.train_images))[: count * 32].reshape(count, 32)
    for k, chosen in enumerate(order):
        yield (
            digits.train_images[chosen] * np.float32(3e38 if k == 7 else 1),
            digits.train_labels[chosen].astype(np.int32),
        )


def losses_of(step):
    for x, y in batches():
        loss, overflow, scale = step(Tensor(x), Tensor(y))
        yield f"{loss.asnumpy().view(np.uint32).item():08x} {int(overflow)} {float(scale):g}"


class Library:
    """A shared object in this process: its functions by what stands behind the name."""

    def __init__(self, path, name=None):
        self.code = ctypes.CDLL(str(path))
        self.name = name or Path(path).stem
        header = Path(path).with_suffix(".h").read_text()
        self.signature = int(header.partition("_SIGNATURE UINT64_C(")[2].partition(")")[0], 16)

    def __getattr__(self, name):
        function = getattr(self.code, f"{self.name}_{name}")
        function.restype = ctypes.c_char_p if name in ("error", "missing") else ctypes.c_int
        return function

    def create(self, file=None, abi=1, signature=None):
        made = ctypes.c_void_p()
        signature = ctypes.c_uint64(self.signature if signature is None else signature)
        return self.create_checked(ctypes.byref(made), file, abi, signature), made

    def run(self, step, inputs, results):
        pointers = [
            (ctypes.c_void_p * len(a))(*(x if x is None else x.ctypes.data for x in a)) for a in (inputs, results)
        ]
        return self.run_arrays(step, *pointers)


class Halving(nn.Cell):
    """Keeps a count, and halves x until it is small: a loop."""

    def __init__(self):
        super().__init__()
        self.count = Parameter(np.zeros((), np.int32), name='turns */ int x; " \n of it')
        self.unit = Tensor(np.linspace(1, 2, 40, dtype=np.float32))

    def construct(self, x, half, flag):
        while x.sum() > 1:
            x = x * 0.5
            self.count += 1
        return x, half + half, ops.logical_not(flag), self.unit * 2, self.count


HALVING = (np.full((3, 5), 7, np.float32), np.array([1.5, 2], np.float16), np.array([True, False]))


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def halving(request, tmp_path_factory):
    """The library of a step whose threads, where it has two, share all they can."""
    with debug(threads=request.param), patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9):
        step = graphc.compile(Halving(), *HALVING)
    assert step._lowered.program.threads == request.param
    return Library(step.export(tmp_path_factory.mktemp("c") / "halving.so")[0])


class Sequence(nn.Cell):
    """Its loop reads rows and writes rows: windows that move, in a table of each thread."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(6, 16, bidirectional=True), nn.Dense(32, 3)

    def construct(self, x, labels):
        return ops.cross_entropy(self.head(self.lstm(x)[0][-1]), labels)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_over_rows_gives_pythons_bits(threads, tmp_path):
    graphc.set_seed(0)
    net = Sequence()
    cell = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    x, labels = (
        np.random.default_rng(0).standard_normal((12, 8, 6)).astype(np.float32),
        np.arange(8, dtype=np.int32) % 3,
    )
    with debug(threads=threads), patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9):
        step = graphc.compile(cell, x, labels)
    assert "For(" in repr(step._lowered.program.body)
    library = Library(step.export(tmp_path / "sequence")[0])
    status, made = library.create()
    assert status == 0
    for _ in range(3):
        loss = np.empty((), np.float32)
        status = library.run(made, (x, labels + 1), (loss,))  # One label too many: nothing is done.
        assert b"a label is out of range" in library.error(status)
        assert library.run(made, (x, labels), (loss,)) == 0
        assert loss == step(x, labels).asnumpy()
    library.destroy(made)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_a_c_program_trains_lenet_as_python_does(threads, tmp_path):
    cell = lenet_step()
    with debug(threads=threads):
        step = graphc.compile(cell, *next(batches()))
    written = step.export(tmp_path / "lenet", parameters="file" if threads == 1 else "embedded")
    assert [p.name for p in written] == ["lenet.so", "lenet.h", "lenet.safetensors"][: 4 - threads]
    (tmp_path / "batches").write_bytes(b"".join(x.tobytes() + y.tobytes() for x, y in batches()))
    command = [
        COMPILER,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-I.",
        str(PROGRAM),
        "./lenet.so",
        "-Wl,-rpath,$ORIGIN",
        "-o",
        "train",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    arguments = ["./train", "batches", "after.safetensors", *(["lenet.safetensors"] if threads == 1 else [])]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == list(losses_of(step))
    assert " 1 " in done.stdout
    after = graphc.load_checkpoint(str(tmp_path / "after.safetensors"), format="safetensors")
    assert {p.name: p.asnumpy().tobytes() for p in step.parameters} == {
        k: p.asnumpy().tobytes() for k, p in after.items()
    }


FRESH = """
import ctypes, pathlib, sys
import numpy as np

library = ctypes.CDLL(sys.argv[1])
signature = pathlib.Path(sys.argv[1]).with_suffix(".h").read_text().partition("_SIGNATURE UINT64_C(")[2].partition(")")[0]
made, x, y = ctypes.c_void_p(), np.load(sys.argv[2]), np.empty((256, 384), np.float32)
assert library.dense_create_checked(ctypes.byref(made), None, 1, ctypes.c_uint64(int(signature, 16))) == 0
pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (x, y)]
assert library.dense_run_arrays(made, *pointers) == 0
np.save(sys.argv[2], y)
"""


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
def test_a_process_without_graphc_multiplies_large_matrices(threads, tmp_path):
    """Where products use registers that a process must ask Linux for, the library does."""
    cell, x = nn.Dense(512, 384), np.random.default_rng(0).standard_normal((256, 512)).astype(np.float32)
    with debug(threads=threads):
        step = graphc.compile(cell, graphc.Tensor(x))
    step.export(tmp_path / "dense")
    np.save(tmp_path / "x.npy", x)
    subprocess.run([sys.executable, "-c", FRESH, str(tmp_path / "dense.so"), str(tmp_path / "x.npy")], check=True)
    assert np.load(tmp_path / "x.npy").tobytes() == step(graphc.Tensor(x)).asnumpy().tobytes()


@needs_compiler
def test_the_functions_of_a_library(halving, tmp_path):
    status, step = halving.create()
    assert status == OK
    out = [np.zeros((3, 5), np.float32), np.zeros(2, np.float16), np.zeros(2, bool), None, np.zeros((), np.int32)]
    assert halving.run(step, HALVING, out) == OK
    assert (out[0] == 7 / 128).all()
    assert out[1].tolist() == [3, 4]
    assert out[2].tolist() == [False, True]
    assert out[4] == 7
    assert halving.run(step, HALVING, out) == OK
    assert out[4] == 14
    assert halving.parameter_named(b'turns */ int x; " \n of it') == 0
    assert halving.parameter_named(b"turns") == -1
    number = np.array(100, np.int32)
    assert halving.set(step, 0, number.ctypes.data_as(ctypes.c_void_p)) == OK
    halving.run(step, HALVING, out)
    assert out[4] == 107
    file = str(tmp_path / "saved").encode()
    assert halving.save(step, file) == OK
    assert list(tmp_path.iterdir()) == [tmp_path / "saved"]
    status, other = halving.create(file)
    assert status == OK
    assert halving.get(other, 0, number.ctypes.data_as(ctypes.c_void_p)) == OK
    assert number == 107
    # Denormal numbers are what they were outside, and nothing inside.
    tiny = (np.full((3, 5), 1e-39, np.float32), *HALVING[1:])
    halving.run(step, tiny, out)
    assert (tiny[0] * np.float32(0.5) > 0).all()
    for each in (step, other, None):
        halving.destroy(each)


@needs_compiler
def test_what_the_functions_refuse(halving, tmp_path):
    assert halving.create(abi=2)[0] == VERSION
    status, step = halving.create(signature=1)
    assert (status, step.value) == (VERSION, None)
    assert b"do not belong together" in halving.error(VERSION)
    assert halving.error(99) == b"no status of this library"
    _, step = halving.create()
    odd = np.zeros(64, np.uint8)[1:61].view(np.float32)
    assert halving.run(step, (None, *HALVING[1:]), [None] * 5) == ARGUMENT
    assert halving.run(step, (odd, *HALVING[1:]), [None] * 5) == ARGUMENT
    assert halving.run(None, HALVING, [None] * 5) == ARGUMENT
    assert halving.get(step, 1, odd.ctypes.data_as(ctypes.c_void_p)) == ARGUMENT
    assert halving.get(step, -1, odd.ctypes.data_as(ctypes.c_void_p)) == ARGUMENT
    assert halving.set(step, 0, None) == ARGUMENT
    assert halving.save(step, str(tmp_path / "no" / "folder").encode()) == FILE
    saved = tmp_path / "saved"
    halving.save(step, str(saved).encode())
    whole = saved.read_bytes()
    for wrong in (b"", whole[:-1], whole + b"\0", whole[:20] + b"!" + whole[21:]):
        saved.write_bytes(wrong)
        assert halving.load(step, str(saved).encode()) == FILE
        assert halving.create(str(saved).encode())[0] == FILE
    assert halving.create(b"/there/is/none")[0] == FILE
    halving.destroy(step)


class Counting(nn.Cell):
    """Takes long: it counts down from n."""

    def __init__(self):
        super().__init__()
        self.count = Parameter(np.zeros((), np.int32), name="count")

    def construct(self, n):
        while n > 0:
            n = n - 1
            self.count += 1
        return n


@needs_compiler
def test_one_thread_at_a_time_uses_a_step(tmp_path):
    """While a thread runs a step, others are told so; another step of the same library runs."""
    with debug(threads=1):
        step = graphc.compile(Counting(), np.array(1, np.int32))
    library = Library(step.export(tmp_path / "counting")[0])
    (_, one), (_, other) = library.create(), library.create()
    value = np.zeros((), np.int32)
    at = value.ctypes.data_as(ctypes.c_void_p)
    nowhere = str(tmp_path / "no" / "folder").encode()

    def count_down(turns):
        while library.run(one, [np.array(turns, np.int32)], [None]) == BUSY:
            pass

    for turns in (10**7, 10**8, 10**9):
        value[...] = 0
        assert library.set(one, 0, at) == OK
        long = threading.Thread(target=count_down, args=(turns,))
        long.start()
        while long.is_alive() and library.get(one, 0, at) != BUSY:
            pass
        told = [library.set(one, 0, at), library.run(one, [value], [None]), library.save(one, nowhere)]
        assert library.run(other, [np.array(2, np.int32)], [None]) == OK
        in_time = long.is_alive()
        long.join()
        if in_time:
            break
    assert in_time
    assert told == [BUSY, BUSY, BUSY]
    assert library.get(one, 0, at) == OK
    assert value == turns


@needs_compiler
def test_a_processor_that_lacks_a_feature_is_told_so(tmp_path):
    """The feature is one that this processor does not have."""
    step = graphc.compile(nn.ReLU(), HALVING[0])
    target = host()
    if not target.x86:
        pytest.skip("CPUID is x86's")
    lacking = next(name for name in ("xop", "amx-fp16", "fma4") if f"-{name}" in target.features.split(","))
    features = target.features.replace(f"-{lacking}", f"+{lacking}")
    rendered = dataclasses.replace(step._executable.rendered, target=dataclasses.replace(target, features=features))
    objects = step._executable.objects()
    step._executable = type("Other", (), {"rendered": rendered, "checked": False, "objects": lambda _: objects})()
    library = Library(step.export(tmp_path / "relu")[0])
    status, made = library.create()
    assert (status, made.value) == (CPU, None)
    assert library.missing() == lacking.encode()


@numba.njit
def doubled(x):
    return x * 2


@pytest.fixture
def doubling():
    """An op with a kernel of the user's own."""
    before = set(_REGISTRY)
    yield ops.custom("Doubling", doubled)
    for name in set(_REGISTRY) - before:
        del _REGISTRY[name]


def test_a_function_of_the_users_own_is_refused_by_name(doubling, tmp_path):
    class Net(nn.Cell):
        def construct(self, x):
            return doubling(x)

    with pytest.raises(ExportError, match="the step calls Doubling, which this process alone has") as caught:
        graphc.compile(Net(), HALVING[0]).export(tmp_path / "a")
    assert caught.value.loc.file.endswith("test_shared.py")


def test_steps_that_need_python_are_refused_by_name(tmp_path):
    class Prints(nn.Cell):
        def construct(self, x):
            ops.print_("x", x)
            return x + 1

    with pytest.raises(ExportError, match="Prints prints"):
        graphc.compile(Prints(), HALVING[0]).export(tmp_path / "a")
    net = nn.WithLossCell(nn.Dense(5, 2), nn.MSELoss())
    listed = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), [0.1, 0.2]))
    with pytest.raises(ExportError, match="from a list"):
        graphc.compile(listed, HALVING[0], np.zeros((3, 2), np.float32)).export(tmp_path / "a")
    with debug(jit=False), pytest.raises(ExportError, match="GRAPHC_JIT=0"):
        graphc.compile(nn.ReLU(), HALVING[0]).export(tmp_path / "a")
    with debug(profile=True), pytest.raises(ExportError, match="GRAPHC_PROFILE=1"):
        graphc.compile(nn.ReLU(), HALVING[0]).export(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_arguments(tmp_path):
    step = graphc.compile(nn.ReLU(), HALVING[0])
    with pytest.raises(ArgumentValueError, match="no name"):
        step.export(tmp_path / "1st")
    with pytest.raises(ArgumentTypeError, match="a path"):
        step.export(7)
    with pytest.raises(ArgumentValueError, match="'embedded' or 'file'"):
        step.export(tmp_path / "a", parameters="none")
    with pytest.raises(ExportError, match="there is no compiler-that-nobody-has here"):
        step.export(tmp_path / "a", compiler="compiler-that-nobody-has")
    if COMPILER is not None:
        with pytest.raises(ExportError, match="cannot link") as caught:
            step.export(tmp_path / "free")
        assert "another file name" in caught.value.help
    assert list(tmp_path.iterdir()) == []


def test_names_become_distinct_identifiers():
    assert identifiers(["x", "x", "int", "7", "größe", "a.b", "a_b"]) == [
        "x",
        "x_2",
        "_int",
        "_7",
        "gr_e",
        "a_b",
        "a_b_2",
    ]


def test_the_object_code_of_a_checked_program_does_not_exist():
    with debug(jit=False):
        step = graphc.compile(nn.ReLU(), HALVING[0])
    with pytest.raises(CodegenError, match="checked"):
        step._executable.objects()
