"""What the verifier asks of an overflow check, of hand-written graphs and of users' own steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.errors import VerifyError
from graphc.ir import parse, verify

HEAD = """graph @step {
  state:
    %0 w: f32[2] = Param()
    %1 v: f32[2] = Param()
    %2 x: f32[2] = Input()
  overflow:
    %3: i32[8] = ClearFloatStatus()
    %4: f32[2] = Depend(%2) after(%3)
  backward:
    %5 grad.w: f32[2] = Mul(%4, %1)
    %6 grad.v: f32[2] = Mul(%4, %0)
"""
#: Nodes that follow: (text, message, detail); no message for what is right.
GRAPHS: dict[str, tuple[str, str | None, str]] = {
    "both tested, both behind": (
        """%10: b1[] = GetFloatStatus(%3, %5, %6)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  optimizer:
    %12: f32[2] = Select(%10, %1, %6)
  return bad=%10
  update %0 = %11  ; w
  update %1 = %12  ; v""", None, "",
    ),
    "one sum of both is tested": (
        """%9: f32[2] = Add(%5, %6)
    %10: b1[] = GetFloatStatus(%3, %9)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  optimizer:
    %12: f32[2] = Select(%10, %1, %6)
  return bad=%10
  update %0 = %11  ; w
  update %1 = %12  ; v""", None, "",
    ),
    "nothing is given": (
        """%10: b1[] = GetFloatStatus(%3)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  return bad=%10
  update %0 = %11  ; w""", "the overflow check tests nothing", "it is given nothing but the clearing of the status (%3)",
    ),
    "nothing is computed since the clearing": (
        """%10: b1[] = GetFloatStatus(%3, %4)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  return bad=%10
  update %0 = %11  ; w""", "the overflow check tests nothing", "%2 Input is computed before the clearing",
    ),
    "one gradient bypasses it": (
        """%10: b1[] = GetFloatStatus(%3, %5)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  optimizer:
    %12: f32[2] = Select(%10, %1, %6)
  return bad=%10
  update %0 = %11  ; w
  update %1 = %12  ; v""", "gradients bypass the overflow check: the update of 'w', 'v'", "%6 Mul is not among",
    ),
    "waiting for the test is no test": (
        """%7: f32[2] = Depend(%5) after(%6)
    %10: b1[] = GetFloatStatus(%3, %7)
  optimizer:
    %12: f32[2] = Select(%10, %1, %6)
  return bad=%10
  update %1 = %12  ; v""", "gradients bypass the overflow check: the update of 'v'", "%6 Mul is not among",
    ),
    "an update beside it": (
        """%10: b1[] = GetFloatStatus(%3, %5, %6)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  optimizer:
    %12: f32[2] = Sub(%1, %6)
  return bad=%10
  update %0 = %11  ; w
  update %1 = %12  ; v""", "the update of 'v' is not behind the overflow check", "the update %12 Sub",
    ),
    "an update that only waits": (
        """%10: b1[] = GetFloatStatus(%3, %5, %6)
  optimizer:
    %12: f32[2] = Sub(%1, %6) after(%10)
  return bad=%10
  update %1 = %12  ; v""", "the update of 'v' is not behind the overflow check", "the update %12 Sub",
    ),
    "a second check covers the second gradient": (
        """%10: b1[] = GetFloatStatus(%3, %5)
    %13: b1[] = GetFloatStatus(%3, %6)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  optimizer:
    %12: f32[2] = Select(%13, %1, %6)
  return bad=%10, other=%13
  update %0 = %11  ; w
  update %1 = %12  ; v""", None, "",
    ),
    "the second check is the wrong one": (
        """%10: b1[] = GetFloatStatus(%3, %5)
    %13: b1[] = GetFloatStatus(%3, %6)
  optimizer:
    %11: f32[2] = Select(%13, %0, %5)
  optimizer:
    %12: f32[2] = Select(%13, %1, %6)
  return bad=%10, other=%13
  update %0 = %11  ; w
  update %1 = %12  ; v""", "gradients bypass the overflow check: the update of 'w', 'v'", "%5 Mul is not among",
    ),
    "what is made of a tested gradient": (
        """%10: b1[] = GetFloatStatus(%3, %5)
    %7: f32[2] = AllReduce(%5)
  optimizer:
    %11: f32[2] = Select(%10, %0, %7)
  return bad=%10
  update %0 = %11  ; w""", None, "",
    ),
    "an update without gradients": (
        """%10: b1[] = GetFloatStatus(%3, %5)
  optimizer:
    %11: f32[2] = Select(%10, %0, %5)
  forward:
    %12: f32[2] = Mul(%1, %2)
  return bad=%10
  update %0 = %11  ; w
  update %1 = %12  ; v""", None, "",
    ),
}  # fmt: skip


def text(name: str) -> str:
    body = GRAPHS[name][0]
    return f"{HEAD}    {body}\n}}\n"


@pytest.mark.parametrize("name", list(GRAPHS))
def test_hand_written_graphs(name: str) -> None:
    graph = parse(text(name))
    _, message, detail = GRAPHS[name]
    if message is None:
        verify(graph)
        return
    with pytest.raises(VerifyError) as caught:
        verify(graph)
    assert caught.value.code == "GC161"
    assert message in str(caught.value)
    assert detail in str(caught.value)
    assert "help: " in str(caught.value)


def test_parameters_that_are_not_trained_may_be_written_anywhere() -> None:
    graph = text("an update beside it").replace("%1 v: f32[2] = Param()", "%1 v: f32[2] = Param() {trainable=False}")
    verify(parse(graph))


# ---- steps as users write them


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Dense(3, 4, weight_init="ones", activation="tanh")
        self.b = nn.Dense(4, 2, weight_init="ones")

    def construct(self, x: Tensor) -> Tensor:
        return ops.reduce_mean(ops.square(self.b(self.a(x))))


class Step(nn.TrainOneStepWithLossScaleCell):
    """The parent's construct, with one thing changed by each subclass."""

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        grads = self.grad(self.network, self.weights)(*inputs, self.scaled_sens(loss, scale))
        grads = self.unscale(grads, scale)
        cond = self.get_overflow_status(status, self.tested(loss, grads))
        overflow = self.process_loss_scale(cond)
        return self.update(overflow, loss, grads), cond, self.scale_sense

    def tested(self, loss: Any, grads: Any) -> Any:
        return grads

    def update(self, overflow: Any, loss: Any, grads: Any) -> Any:
        return self.update_unless(overflow, loss, grads)


class ChecksLoss(Step):
    def tested(self, loss: Any, grads: Any) -> Any:
        return loss


class ChecksNothing(Step):
    def tested(self, loss: Any, grads: Any) -> Any:
        return ()


class ChecksOne(Step):
    def tested(self, loss: Any, grads: Any) -> Any:
        return grads[:1]


class ChecksNorm(Step):
    """The sum of squares is infinite or NaN if any gradient is."""

    def tested(self, loss: Any, grads: Any) -> Any:
        return ops.addn([ops.reduce_sum(ops.square(g)) for g in grads])


class Always(Step):
    def update(self, overflow: Any, loss: Any, grads: Any) -> Any:
        return ops.depend(loss, self.optimizer(grads))


class Masked(Step):
    """No branch: gradients of a step that overflows become zeros."""

    def update(self, overflow: Any, loss: Any, grads: Any) -> Any:
        kept = tuple(ops.select(overflow, ops.zeros_like(g), g) for g in grads)
        return ops.depend(loss, self.optimizer(kept))


class NewGradients(Step):
    """Other gradients than those that are tested."""

    def update(self, overflow: Any, loss: Any, grads: Any) -> Any:
        x = Tensor(np.ones((2, 3), np.float32))
        return self.update_unless(overflow, loss, ops.GradOperation(get_by_list=True)(self.network, self.weights)(x))


class InTheBranch(Step):
    """Gradients computed in the branch that the test has chosen."""

    def apply_update(self, gradients: Any) -> Any:
        x = Tensor(np.ones((2, 3), np.float32))
        return self.optimizer(ops.GradOperation(get_by_list=True)(self.network, self.weights)(x))


class Ignores(nn.Cell):
    """A manager that never skips."""

    def get_loss_scale(self) -> float:
        return 8.0

    def construct(self, scale: Any, overflow: Any) -> Any:
        return Tensor(False)


def made(kind: type[Step], scale: Any = None) -> Step:
    net = Net()
    return kind(net, nn.SGD(net.trainable_params(), 0.1), Tensor(8.0) if scale is None else scale)


@pytest.mark.parametrize("kind", [Step, ChecksNorm, Masked])
def test_steps_whose_check_holds(kind: type[Step]) -> None:
    step = made(kind)
    compiled = graphc.compile(step, np.ones((2, 3), np.float32))
    before = [p.asnumpy() for p in step.weights]
    assert bool(compiled(np.full((2, 3), np.inf, np.float32))[1])
    assert all(map(np.array_equal, before, (p.asnumpy() for p in step.weights)))
    assert not bool(compiled(np.ones((2, 3), np.float32))[1])
    assert not np.array_equal(before[0], step.weights[0].asnumpy())


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (ChecksLoss, "nothing orders that after the clearing"),
        (ChecksOne, "gradients bypass the overflow check: the update of 'a.weight', 'a.bias', 'b.weight' and 1 more"),
        (Always, "the update of 'a.weight' is not behind the overflow check"),
        (NewGradients, "gradients bypass the overflow check"),
        (InTheBranch, "gradients bypass the overflow check"),
    ],
)
def test_steps_whose_check_lies(kind: type[Step], message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        graphc.compile(made(kind), np.ones((2, 3), np.float32))
    assert caught.value.code == "GC161"
    assert message in str(caught.value)
    assert "test_overflow_rules.py:" in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 15


def test_a_check_that_is_given_nothing_tests_what_was_computed() -> None:
    """As a status that is read by a statement."""
    step = made(ChecksNothing)
    compiled = graphc.compile(step, np.ones((2, 3), np.float32))
    assert bool(compiled(np.full((2, 3), np.inf, np.float32))[1])
    assert not bool(compiled(np.ones((2, 3), np.float32))[1])


def test_a_manager_that_never_skips() -> None:
    with pytest.raises(VerifyError, match="is not behind the overflow check"):
        graphc.compile(made(Step, Ignores()), np.ones((2, 3), np.float32))


class Two(nn.Cell):
    """Two networks: one with a scaled loss, one without."""

    def __init__(self, first: Step, second: nn.TrainOneStepCell) -> None:
        super().__init__()
        self.first, self.second = first, second

    def construct(self, x: Tensor) -> Any:
        return self.first(x), self.second(x)


def test_a_network_that_no_check_is_about() -> None:
    net = Net()
    net.update_parameters_name("other.")
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    optimizer.update_parameters_name("second.")
    graphc.compile(Two(made(Step), nn.TrainOneStepCell(net, optimizer)), np.ones((2, 3), np.float32))


def test_status_outside_a_cell_tells_nothing() -> None:
    status = ops.NPUAllocFloatStatus()()
    ops.NPUClearFloatStatus()(status)
    with pytest.raises(graphc.TraceError, match="outside a compiled Cell") as caught:
        ops.NPUGetFloatStatus()(status)
    assert caught.value.code == "GC161"


class Statements(nn.Cell):
    """Reads the register twice, by statements alone."""

    def __init__(self) -> None:
        super().__init__()
        self.p = Parameter(Tensor([1.0]), name="p")

    def construct(self, x: Tensor) -> Any:
        status = ops.NPUAllocFloatStatus()()
        ops.NPUClearFloatStatus()(status)
        y = ops.sum(x * 3e38 - x * 3e38)
        ops.NPUGetFloatStatus()(status)
        first = ops.reduce_max(status)
        ops.NPUClearFloatStatus()(status)
        z = x + y * 0
        ops.NPUGetFloatStatus()(status)
        return first, ops.reduce_max(status), z


class Empty(nn.Cell):
    def construct(self, x: Tensor) -> Any:
        y, status = x * 2, ops.NPUAllocFloatStatus()()
        ops.NPUClearFloatStatus()(status)
        ops.NPUGetFloatStatus()(status)
        return y, ops.reduce_max(status)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_statements_test_what_stands_between_them(mode: int) -> None:
    graphc.set_context(mode=mode)
    try:
        assert [float(x) for x in Statements()(Tensor([0.5]))[:2]] == [0, 0]
        assert [float(x) for x in Statements()(Tensor([2.0]))[:2]] == [1, 1]
        with pytest.raises(graphc.TraceError, match="nothing has been computed since it was cleared"):
            Empty()(Tensor([1.0]))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
