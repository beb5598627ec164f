"""A failure is put into every pass, rewrite, rule of an op and kernel writer in turn: what comes out has the user's line, a code
and at most 15 lines, and leaves nothing behind. Nobody edits this file when one of these is added.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import graphc
from graphc import dispatch, nn, ops, passes
from graphc.debug import debug
from graphc.errors import MOST_LINES, InternalError, is_hidden
from graphc.ir import all_ops
from graphc.ir.op import _REGISTRY, Kernel, OpDef, Sample, Scalar, Strided
from graphc.lower import REWRITES, lower
from graphc.ops.tensor.call import call
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten
from graphc.steps import compiled_step
from graphc.testing.ops import samples_of
from graphc.trace import trace
from graphc_codegen import loops
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.program import ChainKernel, LoopKernel, NamedKernel
from graphc_codegen.target import host
from graphc_codegen.text.render import render
from tests.errors.messages import X, cell

ROOT = Path(__file__).parents[2]
#: How what fails looks inside: what it is given is all that tells the node.
_FAIL = "def fail(*args, **options):\n    given = args[0] if args else None\n    raise ZeroDivisionError('injected')\n"


def failing(name: str = "fail", file: str = "graphc/passes/cleanup.py", text: str = _FAIL) -> Callable[..., Any]:
    """A function that raises, and seems to stand in a file of graphc's."""
    space: dict[str, Any] = {}
    exec(compile(text, str(ROOT / file), "exec"), space)
    space["fail"].__name__ = name
    made: Callable[..., Any] = space["fail"]
    return made


def check(what: str, marker: str, action: Callable[..., Any], *args: Any, **options: Any) -> InternalError:
    """The error of `action(*args, **options)`: in the house's form, with the user's line, which holds `marker`."""
    with pytest.raises(InternalError) as caught:
        action(*args, **options)
    error = caught.value
    lines = str(error).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith(f"[GC185] {what}"), lines[0]
    assert "ZeroDivisionError: injected" in lines[0]
    assert lines[1].startswith("  tests/errors/test_injected.py:"), lines
    assert marker in lines[1], lines
    assert isinstance(error.__context__, ZeroDivisionError)
    assert error.__cause__ is None
    assert isinstance(error, ZeroDivisionError)
    assert not [f for f in traceback.extract_tb(error.__traceback__) if is_hidden(f.filename)]
    assert dispatch.recorder.get() is None
    return error


def network() -> tuple[nn.Cell, tuple[Any, ...]]:
    def construct(self: Any, x: Any) -> Any:
        return ops.relu(self.dense(x)).sum()  # the network

    return cell(construct, dense=nn.Dense(3, 4)), (X,)


@pytest.fixture(autouse=True)
def works_afterwards() -> Iterator[None]:
    """Whatever has failed, the next compilation does not."""
    yield
    net, inputs = network()
    assert net(*inputs).shape == ()


# ---- stages


@pytest.mark.parametrize("index", range(len(passes.PIPELINE)), ids=[p.__name__ for p in passes.PIPELINE])
def test_passes(index: int) -> None:
    name = passes.PIPELINE[index].__name__
    net, inputs = network()
    broken = (*passes.PIPELINE[:index], failing(name), *passes.PIPELINE[index + 1 :])
    # Nothing tells a node: the line is that of the call.
    error = check(f"pass {name} failed", "action(", graphc.compile, net, *inputs, passes=broken)
    assert any(f"in pass {name}, after trace" in n for n in error.__notes__)
    at_a_node = (
        "def fail(graph):\n  for node in graph:\n    if node.inputs:\n      raise ZeroDivisionError('injected')\n"
    )
    broken = (*passes.PIPELINE[:index], failing(name, text=at_a_node), *passes.PIPELINE[index + 1 :])
    check(f"pass {name} failed", "# the network", graphc.compile, net, *inputs, passes=broken)


@pytest.mark.parametrize("index", range(len(REWRITES)), ids=[r.__name__ for r in REWRITES])
def test_rewrites_of_statements(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name = REWRITES[index].__name__
    text = "def fail(body, context):\n    for statement in body:\n        raise ZeroDivisionError('injected')\n"
    broken = (*REWRITES[:index], failing(name, "graphc/lower/chains.py", text), *REWRITES[index + 1 :])
    net, inputs = network()
    with monkeypatch.context() as patch:
        patch.setattr(compiled_step, "lower", partial(lower, rewrites=broken))
        check(f"rewrite {name} failed", "# the network", graphc.compile, net, *inputs)


@pytest.mark.parametrize("stage", ["trace_counted", "lower", "build"])
def test_stages(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, inputs = network()
    what = {"trace_counted": "tracing Net", "lower": "lowering", "build": "generating code"}[stage]
    with monkeypatch.context() as patch:
        patch.setattr(compiled_step, stage, failing(stage, "graphc/lower/step.py"))
        check(f"{what} failed", "action(", graphc.compile, net, *inputs)
        check(f"{what} failed", "action(", net, *inputs)
        with debug(full_traceback=True), pytest.raises(InternalError) as caught:
            net(*inputs)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert [f for f in traceback.extract_tb(caught.value.__traceback__) if is_hidden(f.filename)]


# ---- rules of ops


def of_op(name: str, sample: Sample, differentiated: bool = False) -> tuple[nn.Cell, list[Any]]:
    """A cell that applies an op to its inputs, and a sample of these."""
    arrays = [np.asarray(x) for x in sample.operands]

    def construct(self: Any, *inputs: Any) -> Any:
        if differentiated:
            return ops.GradOperation(get_all=True)(lambda *x: call(name, *x, **sample.attrs))(*inputs)  # the op
        return call(name, *inputs, **sample.attrs)  # the op

    return cell(construct), arrays


@contextmanager
def rule(name: str, **changes: Any) -> Iterator[None]:
    """An op with other rules."""
    before = _REGISTRY[name]
    _REGISTRY[name] = dataclasses.replace(before, **changes)
    try:
        yield
    finally:
        _REGISTRY[name] = before


def with_samples() -> list[OpDef]:
    return [d for d in all_ops().values() if d.samples is not None and d.infer is not None]


def test_type_rules() -> None:
    for definition in with_samples():
        sample = samples_of(definition.name)[0]
        net, inputs = of_op(definition.name, sample)
        with rule(definition.name, infer=failing(file="graphc/ops/declared/shape.py")):
            check("tracing Net failed", "# the op", graphc.compile, net, *inputs)


def test_gradient_rules() -> None:
    tried = 0
    for definition in with_samples():
        sample = next((s for s in samples_of(definition.name) if s.grad), None)
        if sample is None or not callable(definition.grad):
            continue
        net, inputs = of_op(definition.name, sample, differentiated=True)
        with rule(definition.name, grad=failing(file="graphc/ops/declared/shape.py")):
            check("pass autodiff failed", "# the op", graphc.compile, net, *inputs)
        tried += 1
    assert tried > 50


def broken_lowering(lowering: Any) -> Any:
    fail = failing(file="graphc/ops/declared/shape.py")
    if isinstance(lowering, Scalar):
        return Scalar(fail, lowering.align)
    if isinstance(lowering, Kernel):
        return lowering._replace(fn=fail)
    return Strided(fail) if isinstance(lowering, Strided) else None


#: Ops whose rule the lowering does not ask in the samples: what they give is a number, is read where it stands, or is complex,
#: so that their references are called back with parts.
WITHOUT_CODE = {"Fill", "Eig", "EighComplex", "MatrixLogarithm"}
#: The passes without which nothing is lowered. Others may know the result of a sample.
NEEDED = (passes.autodiff, passes.split_complex)


def statements(net: nn.Cell, inputs: Sequence[Any], how: str = "") -> Any:
    """What a cell is lowered to, on a processor that multiplies bfloat16 so."""
    leaves, structure = flatten((tuple(map(Tensor, inputs)), {}))
    return lower(passes.run(trace(net, leaves, structure).graph, NEEDED)[-1].graph, bfloat16=lambda: how)


def uses_rule(net: nn.Cell, inputs: list[Any]) -> bool:
    try:
        statements(net, inputs)
    except ZeroDivisionError:
        return True
    return False


def test_lowering_rules() -> None:
    tried, unused = 0, set()
    for definition in with_samples():
        broken = broken_lowering(definition.lower)
        if broken is None:
            continue
        sample = next(s for s in samples_of(definition.name) if all(np.size(x) for x in s.operands))
        net, inputs = of_op(definition.name, sample)
        with rule(definition.name, lower=broken):
            if not uses_rule(net, inputs):
                unused.add(definition.name)
                continue
            check("lowering failed", "# the op", graphc.compile, net, *inputs, passes=NEEDED)
        tried += 1
    assert tried > 80
    assert unused <= WITHOUT_CODE


# ---- kernel writers


def kinds(net: nn.Cell, inputs: Sequence[Any], how: str = "") -> set[str]:
    """The kinds of kernels that a cell is lowered to."""
    kernels = statements(net, inputs, how).program.kernels().values()
    return {k.name if isinstance(k, NamedKernel) else WRITERS[type(k), getattr(k, "times", 1) > 1] for k in kernels}


WRITERS = {(LoopKernel, False): "emit", (LoopKernel, True): "emit_sets", (ChainKernel, False): "emit_chain"}


#: Kernels that there are on some processors alone: by which of their instructions products are made.
HOW = {"pack_factor": "all by tiles", "pair_channels": "pairs"}


def cells_of_kernels() -> dict[str, tuple[nn.Cell, Sequence[Any]]]:
    """A cell and inputs for each kind of kernel."""
    tried: list[tuple[nn.Cell, Sequence[Any]]] = [
        of_op(definition.name, sample)
        for definition in with_samples()
        if isinstance(definition.lower, Kernel)
        for sample in samples_of(definition.name)
    ]
    tried += [network(), rows(), training(), convolution(), lines(), small(), doubling(), looked_up()]
    found: dict[str, tuple[nn.Cell, Sequence[Any]]] = {}
    for each in tried:
        for kind in kinds(*each):
            found.setdefault(kind, each)
    for each, how in ((looping(), ""), (looping(), "all by tiles"), (halves(), "pairs")):
        for kind in kinds(*each, how=how):
            found.setdefault(kind, each)
    return found


def looping() -> tuple[nn.Cell, Sequence[Any]]:
    """A loop that multiplies by the same matrix in each turn, which is packed before: to tiles where the processor has them."""
    weight = Tensor(np.ones((320, 320), np.float32))

    def construct(self: Any, x: Any) -> Any:
        def turn(h: Any, y: Any) -> tuple[Any, Any]:
            h = ops.matmul(h, weight) + y  # the loop
            return h, h

        return ops.scan(turn, ops.zeros((64, 320), graphc.float32), x, 5)[0]

    return cell(construct), (np.ones((5, 64, 320), np.float32),)


def rows() -> tuple[nn.Cell, Sequence[Any]]:
    def construct(self: Any, x: Any) -> Any:
        return self.norm(x)  # the norm

    return cell(construct, norm=nn.LayerNorm((128,))), (np.ones((256, 128), np.float32),)


def looked_up() -> tuple[nn.Cell, Sequence[Any]]:
    def construct(self: Any, x: Any) -> Any:
        return ops.gather(x, ops.cast(x[:, 0], graphc.int32), 0)  # the indices

    return cell(construct), (X,)


def training() -> tuple[nn.Cell, Sequence[Any]]:
    """A step that updates many small parameters, which share a loop."""

    def construct(self: Any, x: Any) -> Any:
        return self.step(x, x)  # the step

    net = nn.SequentialCell(*(nn.Dense(3, 3) for _ in range(4)))  # the layers
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params()))
    return cell(construct, step=step), (X,)


def convolution() -> tuple[nn.Cell, Sequence[Any]]:
    def construct(self: Any, x: Any) -> Any:
        return ops.grad(lambda x: ops.relu(self.conv(x)), weights=self.conv.weight)(x)  # the convolution

    return cell(construct, conv=nn.Conv2d(6, 16, 5, pad_mode="valid")), (np.ones((48, 6, 14, 14), np.float32),)


def lines() -> tuple[nn.Cell, Sequence[Any]]:
    def construct(self: Any, x: Any) -> Any:
        return ops.grad(lambda x: ops.relu(self.conv(x)), weights=self.conv.weight)(x)  # the convolution

    return cell(construct, conv=nn.Conv1d(64, 64, 3)), (np.ones((16, 64, 256), np.float32),)


def small() -> tuple[nn.Cell, Sequence[Any]]:
    def construct(self: Any, x: Tensor) -> Any:
        return self.conv(x)  # the convolution

    return cell(construct, conv=nn.Conv2d(128, 32, 3, 2)), (np.ones((16, 128, 7, 7), np.float32),)


def halves() -> tuple[nn.Cell, Sequence[Any]]:
    """A convolution of bfloat16 whose channels are paired, where the processor multiplies pairs."""

    def construct(self: Any, x: Any) -> Any:
        return self.conv(x.astype(graphc.bfloat16))  # the convolution

    net = cell(construct, conv=nn.Conv2d(16, 32, 3, 2).to_float(graphc.bfloat16))
    return net, (np.ones((8, 16, 33, 33), np.float32),)


def doubling() -> tuple[nn.Cell, Sequence[Any]]:
    function = ops.custom("InjectedDouble", numba.njit(lambda x: x * np.float32(2)))

    def construct(self: Any, x: Any) -> Any:
        return function(x)  # the kernel

    return cell(construct), (X,)


@pytest.fixture
def registry() -> Iterator[None]:
    """The registry: what a test adds is gone after it."""
    before = dict(_REGISTRY)
    yield
    _REGISTRY.clear()
    _REGISTRY.update(before)


@pytest.mark.usefixtures("registry")
def test_kernel_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = cells_of_kernels()
    # What several processes do together is in no step of one.
    alone = {name for name in EMITTERS if not name.startswith(("collective_", "message_", "window_"))}
    assert set(found) == {*alone, *WRITERS.values()}
    for kind, (net, inputs) in found.items():
        with monkeypatch.context() as patch, debug(cache=False):
            if kind != "emit":  # Of the others the text alone is made.
                patch.setattr(compiled_step, "build", lambda program, **options: render(program, host()).kernels)
            if kind in HOW:
                patch.setattr(compiled_step, "multiplies_bfloat16", lambda kind=kind: HOW[kind])
            if kind in EMITTERS:
                broken = dataclasses.replace(EMITTERS[kind], emit=failing(file="graphc/lower/step.py"))
                patch.setitem(EMITTERS, kind, broken)
            else:
                patch.setattr(loops, kind, failing(file="graphc/lower/step.py"))
            check("generating code failed", "# the ", graphc.compile, net, *inputs, passes=NEEDED)
