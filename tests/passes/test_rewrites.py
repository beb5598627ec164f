"""The rewrites of statements are one tuple: what runs, what is dumped, and that a broken one is caught by its name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import LoweringError, VerifyError
from graphc.lower import REWRITES, Apart, Context, Lowered, Rewrite, Statements, lower, pipeline
from graphc.lower.check import check
from graphc.lower.cost import NEAR, Cost, stepped
from graphc.lower.thread_plan import best_plan
from graphc.steps.build import multiplies_bfloat16
from graphc.testing import close_to_reference, graph_of
from graphc_codegen import compile_program
from graphc_codegen.program import Call, If, LoopKernel, NamedKernel, While
from graphc_codegen.scalars.halves import numpy_dtype

NAMES = [
    "pool_convolutions",
    "absorb_loops",
    "mark_causal",
    "watch_overflow",
    "chain_loops",
    "round_factors",
    "join_calls",
    "pack_factors",
    "copy_panels",
    "keep_moving",
    "place_buffers",
    "share_calls",
]

#: A product with a bias, a branch that goes on with it, and a sum.
TEXT = """graph @g {
  forward:
    %0 x: f32[4,3] = Input()
    %1 w: f32[3,8] = Input()
    %2 b: f32[8] = Input()
    %3 p: b1[] = Input()
    %4: f32[4,8] = MatMul(%0, %1)
    %5: f32[4,8] = BiasAdd(%4, %2)
    %6: f32[8] = ReduceSum(%1) {axis=(0,), keep_dims=False}
    %7: f32[4,8] = If(%3, %5) {then=graph, else=graph}
      then = graph @then {
        takes %8 x: f32[4,8]
        forward:
          %9: f32[4,8] = Exp(%8)
        return "0"=%9
      }
      else = graph @else {
        takes %10 x: f32[4,8]
        forward:
          %11: f32[4,8] = Neg(%10)
        return "0"=%11
      }
  return y=%7, z=%6
}"""


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(3, 5, activation="relu")

    def construct(self, x: graphc.Tensor) -> graphc.Tensor:
        return ops.reduce_sum(self.dense(x))


def lowered(*rewrites: Rewrite) -> Lowered:
    """The graph lowered in checked mode."""
    with debug(jit=False):
        return lower(graph_of(TEXT), rewrites=rewrites or REWRITES)


def test_the_tuple_is_what_runs() -> None:
    assert [rewrite.__name__ for rewrite in REWRITES] == NAMES
    assert [stage.name for stage in lowered().stages] == ["fuse", *NAMES]
    step = graphc.compile(Net(), np.ones((2, 3), np.float32))
    assert [name for name, _ in step.rewrites] == ["fuse", *NAMES]


def test_every_rewrite_says_what_it_does_before_and_after() -> None:
    for rewrite in REWRITES:
        lines = inspect.cleandoc(rewrite.__doc__ or "").split("\n")
        for word in ("before:  ", "after:  "):
            assert any(line.startswith(word) for line in lines), rewrite.__name__


def test_stages_hold_what_each_rewrite_left() -> None:
    done = lowered()
    assert done.program.body == done.stages[-1].statements
    assert [stage.changed for stage in done.stages[:3]] == [True, False, True]
    assert all(stage.seconds >= 0 for stage in done.stages)
    text = dict(done.texts())
    product = next(line for line in text["absorb_loops"].splitlines() if "gemm" in line)
    assert "%4 MatMul, %5 BiasAdd" in product
    assert "%4 MatMul, %5 BiasAdd" not in text["pool_convolutions"]
    assert " at " not in text["join_calls"].partition("statements")[0]
    assert " at 0" in text["place_buffers"].partition("statements")[0]


def test_the_dump_has_a_text_for_each(tmp_path: Path) -> None:
    step = graphc.compile(Net(), np.ones((2, 3), np.float32))
    stale = tmp_path / "lower" / "99_old.txt"
    stale.parent.mkdir()
    stale.write_text("")
    written = step.dump(tmp_path)
    wanted = [f"{index:02}_{name}.txt" for index, name in enumerate(["fuse", *NAMES])]
    assert sorted(p.name for p in (tmp_path / "lower").iterdir()) == wanted
    assert [p.name for p in written if p.parent.name == "lower"] == wanted
    for (_, text), file in zip(step.rewrites, wanted, strict=True):
        assert (tmp_path / "lower" / file).read_text() == text + "\n"


def test_times_and_statements_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with debug(debug=2):
        lower(graph_of(TEXT))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["fuse", *NAMES]
    assert all(" ms  " in line and line.endswith(" statements") for line in lines)
    with debug(debug=3):
        lower(graph_of(TEXT))
    assert "gemm(" in capsys.readouterr().err


# ---- what the check finds; each function breaks statements in one way


def forgets(body: Statements, context: Context) -> Statements:
    return body[1:]


def repeats_an_operand(body: Statements, context: Context) -> Statements:
    return tuple(
        replace(s, args=(s.args[0], *s.args)) if isinstance(s, Call) and isinstance(s.kernel, LoopKernel) else s
        for s in body
    )


def takes_other_sizes(body: Statements, context: Context) -> Statements:
    return tuple(
        replace(s, args=(0, *s.args[1:])) if isinstance(s, Call) and isinstance(s.kernel, LoopKernel) else s
        for s in body
    )


def writes_an_input(body: Statements, context: Context) -> Statements:
    call = body[0]
    assert isinstance(call, Call)
    return (replace(call, args=(*call.args[:-1], 0)), *body)


def writes_nowhere(body: Statements, context: Context) -> Statements:
    call = body[0]
    assert isinstance(call, Call)
    return (replace(call, kernel=NamedKernel("softmax", ()), args=()), *body)


def invents_a_buffer(body: Statements, context: Context) -> Statements:
    call = body[0]
    assert isinstance(call, Call)
    return (replace(call, args=(999, *call.args[1:])), *body[1:])


def decides_alone(body: Statements, context: Context) -> Statements:
    """Leaves one branch out."""
    return tuple(replace(s, orelse=()) if isinstance(s, If) else s for s in body)


def runs_late(body: Statements, context: Context) -> Statements:
    return (*body, body[0])


def adds_memory(body: Statements, context: Context) -> Statements:
    call = body[0]
    assert isinstance(call, Call)
    more = context.buffers.new(context.buffers.type(call.args[-1]))
    return (replace(call, args=(*call.args[:-1], more)), *body)


def lies_on_top(body: Statements, context: Context) -> Statements:
    layout = context.placed()
    moved = tuple(replace(b, position=0) if b.space == "arena" else b for b in layout.buffers)
    context.layout = replace(layout, buffers=moved)
    return body


#: Where buffers have their places.
PLACED = NAMES.index("place_buffers") + 1

BROKEN = [
    (forgets, 0, "is read .* but nothing has been written to it"),
    (repeats_an_operand, 0, r"has \d operands .* it takes \d"),
    (takes_other_sizes, 0, r"b0 is f32\[4,3\] .* walks 32 elements of float32"),
    (writes_an_input, 0, "b0, which is input memory, is written"),
    (writes_nowhere, 0, "softmax has 0 operands .* it writes 1"),
    (invents_a_buffer, 0, "b999 is used .* but there is no such buffer"),
    (decides_alone, 3, "is read after the end, but nothing has been written to it"),
    (runs_late, PLACED, "where it is dead"),
    (adds_memory, PLACED, "has no place in the arena"),
    (lies_on_top, PLACED, "is written .* over b.*, which is still needed"),
]


@pytest.mark.parametrize(("broken", "place", "message"), BROKEN, ids=[b.__name__ for b, _, _ in BROKEN])
def test_a_broken_rewrite_is_caught_in_checked_mode(broken: Rewrite, place: int, message: str) -> None:
    rewrites = (*REWRITES[:place], broken, *REWRITES[place:])
    with pytest.raises(VerifyError, match=f"rewrite {broken.__name__} made statements that cannot run: .*{message}"):
        lowered(*rewrites)


@pytest.mark.parametrize(("on", "checked"), [({}, False), ({"jit": False}, True), ({"verify": 2}, True)])
def test_when_statements_are_checked(on: dict[str, object], checked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(pipeline, "check", lambda body, context: seen.append(check(body, context)))
    with debug(jit=True, verify=1), debug(**on):
        lower(graph_of(TEXT))
    assert len(seen) == (1 + len(NAMES) if checked else 0)


def test_errors_name_the_rewrite() -> None:
    def gives_up(body: Statements, context: Context) -> Statements:
        raise LoweringError("nothing to be done")

    with pytest.raises(LoweringError, match="nothing to be done") as raised:
        lowered(*REWRITES[:1], gives_up)
    assert raised.value.__notes__ == ["in rewrite gives_up, after fuse, pool_convolutions"]


@pytest.mark.parametrize("missing", ["place_buffers", "share_calls"])
def test_without_places_there_is_no_program(missing: str) -> None:
    rewrites = [r for r in REWRITES if r.__name__ != missing]
    if missing == "share_calls":
        assert lowered(*rewrites).program.threads == 1
    else:
        with pytest.raises(LoweringError, match="no rewrite has given the buffers their places"):
            lowered(*rewrites)


@pytest.mark.parametrize(
    ("apart", "size", "threads"),
    [
        (Apart(), 256, 2),
        (Apart(20.0), 128, 2),
        (Apart(130.0, 1.3), 128, 2),
        (Apart(3200.0, 1.0), 256, 1),
        (Apart(20.0, 1.9), 128, 1),  # Threads of one core, which long calls keep busier than one does.
        (Apart(20.0, 1.9), 256, 2),
    ],
)
def test_threads_that_are_far_apart_or_of_one_core_are_not_used(apart: Apart, size: int, threads: int) -> None:
    graph = graph_of(TWO_PRODUCTS.replace("256", f"{size}"))
    assert lower(graph, threads=2, apart=lambda: apart).program.threads == threads


def test_a_core_has_one_thread_but_for_long_calls() -> None:
    """Of eight processors on four cores."""
    apart = Apart(20.0, 2.0)
    body = lower(graph_of(TWO_PRODUCTS)).program.body
    for nanoseconds, crowded in ((50e3, 4), (50e6, 8)):
        costs = {id(call): Cost(nanoseconds, 1 << 20, True) for call in body}
        assert best_plan(body, costs, 8).team.threads == 8
        assert best_plan(body, costs, 8, apart).team.threads == crowded


@pytest.mark.parametrize(("most", "size"), [(1, 256), (2, 8)])
def test_nobody_measures_how_far_threads_are_apart_that_do_not_pay(most: int, size: int) -> None:
    def apart() -> Apart:
        raise AssertionError("measured")

    graph = graph_of(TWO_PRODUCTS.replace("256", f"{size}"))
    assert lower(graph, threads=most, apart=apart).program.threads == 1


def test_a_little_further_apart_is_the_same_program() -> None:
    assert [stepped(d) for d in (3.0, 99.0, 150.0, 250.0, 282.0)] == [NEAR] * 5
    assert [stepped(d) for d in (283.0, 370.0, 400.0, 1100.0, 1200.0)] == [4 * NEAR] * 4 + [16 * NEAR]


# ---- the text


def lines_of(text: str) -> Iterator[str]:
    yield from text.partition("statements\n")[2].splitlines()


def test_text_shows_loops_branches_threads_and_what_dies() -> None:
    text = dict(lowered().texts())["share_calls"]
    assert "b0: f32[4,3] input at 0" in text
    lines = list(lines_of(text))
    assert any(line.startswith("  if b3") for line in lines)
    assert "  else" in lines
    assert any("= exp(x0)" in line for line in lines)
    assert any(" die" in line for line in lines)
    reduction = next(i for i, line in enumerate(lines) if "reduce(" in line)
    assert lines[reduction + 1].strip() == "for [3, 8], axes [0] reduced"
    assert "<- sum x0" in lines[reduction + 2]


def test_text_shows_while_loops() -> None:
    class Halves(nn.Cell):
        def construct(self, x: graphc.Tensor) -> graphc.Tensor:
            while ops.reduce_sum(x) > 1.0:
                x = x * 0.5
            return x

    step = graphc.compile(Halves(), np.ones(3, np.float32))
    assert any(isinstance(s, While) for s in step._lowered.program.body)
    text = dict(step.rewrites)["share_calls"]
    assert "  while" in text
    assert " do\n" in text


TWO_PRODUCTS = """graph @two {
  forward:
    %0 x: f32[256,256] = Input()
    %1 y: f32[256,256] = Input()
    %2: f32[256,256] = MatMul(%0, %1)
    %3: f32[256,256] = MatMul(%2, %1)
  return y=%3
}"""


def test_large_products_copy_their_operands() -> None:
    """With memory for each thread, which nobody else uses; the epilogue's operands stay before it."""
    text = """graph @large {
  forward:
    %0 w: f32[700,96] = Input()
    %1 x: f32[48,700] = Input()
    %2 b: f32[96] = Input()
    %3: f32[48,96] = MatMul(%1, %0)
    %4: f32[48,96] = BiasAdd(%3, %2)
  return y=%4
}"""
    with debug(jit=False):
        stages = dict(lower(graph_of(text), threads=2).texts())
    (line,) = [x for x in stages["copy_panels"].splitlines() if "gemm" in x]
    assert "panels=(240, 24, 96, 24), scratch=" in line
    assert "gemm" in stages["join_calls"]
    assert "panels" not in stages["join_calls"]


#: Products of a parameter in bfloat16, one of them before and maybe one behind the parameter's update.
ROUNDED = """graph @rounded {{
  state:
    %0 w: f32[96,700] = Param()
  forward:
    %1 x: bf16[48,700] = Input()
    %2 v: f32[96,700] = Input()
    %3: bf16[96,700] = Cast(%0) {{dtype="bfloat16"}}
    %4: bf16[48,96] = MatMul(%1, %3) {{transpose_b=True}}
    %5: f32[96,700] = Mul(%2, %2)
    {behind}
  return y={result}
  update %0 = %5  ; w
}}"""


@pytest.mark.parametrize("how", ["", "pairs", "tiles", "all by tiles"])
@pytest.mark.parametrize("written", [False, True])
def test_products_round_parameters_while_they_copy_them(how: str, written: bool) -> None:
    """Where the processor multiplies bfloat16, and not if the parameter has another value by then."""
    behind = "%6: bf16[48,700] = MatMul(%4, %3) after(%5)" if written else ""
    graph = graph_of(ROUNDED.format(behind=behind, result="%6" if written else "%4"))
    lowered = lower(graph, bfloat16=lambda: how)
    found = [c for c in lowered.program.calls() if isinstance(c.kernel, NamedKernel) and c.kernel.name == "gemm"]
    rounds = [dict(c.kernel.params).get("rounds") for c in found if isinstance(c.kernel, NamedKernel)]
    assert rounds == [(1,) if how and not written else None] * len(found)
    if how in ("", multiplies_bfloat16()):
        rng = np.random.default_rng(0)
        x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((48, 700), (96, 700)))
        values = {1: x.astype(numpy_dtype("bfloat16")), 2: w + 1, 0: w.copy()}
        for checked in (False, True):
            bound = compile_program(lowered.program, cache_dir=None, checked=checked).bind([w.copy()], [])
            bound.run([values[i] for i in lowered.inputs])
            (buffer, type), *_ = lowered.results
            want = x @ w.T if not written else None
            if want is not None:
                got = bound.read(buffer).reshape(type.shape)
                np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize("how", ["", "tiles", "all by tiles"])
@pytest.mark.parametrize("wide", [256, 1100])
def test_loops_multiply_by_what_was_packed_before(how: str, wide: int) -> None:
    """Once for all turns; not what the loop writes itself. To strips only what is not near anyway."""
    rng = np.random.default_rng(0)
    w, v = (Tensor(rng.standard_normal(shape).astype(np.float32) / 32) for shape in ((64, wide), (wide, 64)))

    class Net(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            def turn(h: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
                h = ops.tanh(ops.matmul(ops.matmul(h, w) + y, v))
                return h, ops.matmul(ops.transpose(h, (1, 0)), h)

            return ops.scan(turn, ops.zeros((32, 64), graphc.float32), x, 6)[1]

    x = Tensor(rng.standard_normal((6, 32, wide)).astype(np.float32))
    step = graphc.compile(Net(), x)
    program = lower(step.graph, bfloat16=lambda: how).program
    kernels = [c.kernel for c in program.calls() if isinstance(c.kernel, NamedKernel)]
    to_tiles = 2 if how == "all by tiles" else 0
    to_strips = 2 if wide == 1100 and not to_tiles else 0
    assert [k.name for k in kernels].count("pack_factor") == to_tiles
    assert [k.name for k in kernels].count("pack_panels") == to_strips
    assert sum(k.name == "gemm" and "packed" in dict(k.params) for k in kernels) == to_tiles + to_strips
    if how in ("", multiplies_bfloat16()):
        close_to_reference(step.graph, lower(step.graph, bfloat16=lambda: how))


def test_what_a_loop_inside_writes_is_not_packed_before_the_outer_one() -> None:
    """It fills a buffer turn by turn, through a window."""
    rng = np.random.default_rng(0)
    a, q = (Tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((5, 300, 300), (16, 300)))

    class Net(nn.Cell):
        def construct(self, a: Tensor, q: Tensor) -> Tensor:
            def outer(c: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
                _, made = ops.scan(lambda s, x: (ops.sin(s + x), s * x), rows[0], rows)
                return c * 0.9, ops.matmul(q + c, made)

            return ops.scan(outer, q * 0, a)[1]

    step = graphc.compile(Net(), a, q)
    close_to_reference(step.graph, lower(step.graph))
