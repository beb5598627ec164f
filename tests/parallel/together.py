"""What several processes do in test_ranks.py: `mpiexec -n N python together.py DIRECTORY`. Each writes what it found there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.ir import walk
from graphc.ops.functional import collective
from graphc.parallel import comm_func, create_group, destroy_group, get_group_size, get_local_rank, get_rank, init

STEPS = 6


def collectives(rank: int, size: int) -> None:
    """Eager, compiled and checked give the same, which is what NumPy says; for every dtype."""
    mine = [np.arange(2 * size * 3).reshape(2 * size, 3) % 7 + r for r in range(size)]

    class Talk(nn.Cell):
        def construct(self, x: Tensor) -> tuple[Tensor, ...]:
            return (
                collective.all_reduce(x),
                collective.all_reduce(x, "max"),
                collective.all_reduce(x, "min"),
                collective.all_reduce(x, "prod"),
                collective.all_gather(x),
                collective.reduce_scatter(x),
                collective.broadcast(x, size - 1),
                collective.reduce(x, size - 1),
                collective.all_to_all(x),
                collective.all_to_all(x, 0, 1),
            )

    two = slice(2 * rank, 2 * rank + 2)
    total = sum(mine)
    wanted = [
        total,
        np.max(mine, 0),
        np.min(mine, 0),
        np.prod(mine, 0),
        np.concatenate(mine),
        total[two],
        mine[-1],
        total if rank == size - 1 else 0 * total,
        np.concatenate([m[two] for m in mine]),
        np.concatenate([m[two] for m in mine], 1),
    ]
    for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "int64"):
        x = Tensor(mine[rank].astype(np.float32)).astype(dtype)
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        made = [Talk()(x)]
        graphc.set_context(mode=graphc.GRAPH_MODE)
        made.append(graphc.compile(Talk(), x)(x))
        with debug(jit=False):
            made.append(graphc.compile(Talk(), x)(x))
        for results in made:
            for k, (got, want) in enumerate(zip(results, wanted, strict=True)):
                assert got.tensor_type.dtype == dtype
                np.testing.assert_array_equal(got.asnumpy().astype(np.float64), want, err_msg=f"{dtype} {k}")
    assert comm_func.all_reduce(Tensor([1.0]))[0].asnumpy() == size
    comm_func.barrier()


def gradients(rank: int, size: int) -> None:
    """The gradient of what all processes compute together, for what this one has given."""
    rng = np.random.default_rng(rank)
    x = rng.normal(size=(2 * size, 2))
    weights = {n: np.random.default_rng(9).normal(size=(size, *s)) for n, s in _shapes(size).items()}

    for name, call in _CALLS.items():

        def loss(t: Tensor, call: Any = call, name: str = name) -> Tensor:
            return ops.reduce_sum(call(t) * Tensor(weights[name][rank]))

        got = ops.grad(loss)(Tensor(x)).asnumpy()
        # The loss of all is the sum of theirs.
        want = np.zeros_like(x)
        for k in np.ndindex(x.shape):
            for turn in range(size):
                step = np.zeros_like(x)
                step[k] = 1e-6 * (turn == rank)
                up, down = (collective.all_reduce(loss(Tensor(x + s * step))).asnumpy() for s in (1, -1))
                if turn == rank:
                    want[k] = (up - down) / 2e-6
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7, err_msg=name)


_CALLS = {
    "sum": collective.all_reduce,
    "max": lambda t: collective.all_reduce(t, "max"),
    "prod": lambda t: collective.all_reduce(t, "prod"),
    "gather": collective.all_gather,
    "scatter": collective.reduce_scatter,
    "broadcast": lambda t: collective.broadcast(t, 1),
    "reduce": lambda t: collective.reduce(t, 1),
    "all_to_all": lambda t: collective.all_to_all(t, 0, 1),
}


def _shapes(size: int) -> dict[str, tuple[int, ...]]:
    whole = (2 * size, 2)
    return {
        **dict.fromkeys(_CALLS, whole),
        "gather": (2 * size * size, 2),
        "scatter": (2, 2),
        "all_to_all": (2, 2 * size),
    }


def groups(rank: int, size: int) -> None:
    pair = [1, 0]
    if rank in pair:
        create_group("pair", pair)
        assert (get_rank("pair"), get_group_size("pair")) == (pair.index(rank), 2)
        joined = collective.all_gather(Tensor([float(rank)]), "pair")
        assert joined.asnumpy().tolist() == [1.0, 0.0]
        destroy_group("pair")
    if size == 3:
        chain(rank)
    for name in ("pair", "nobody's"):
        with pytest.raises(graphc.ArgumentValueError, match="is in no group"):
            get_rank(name)
    assert get_local_rank() == rank


def chain(rank: int) -> None:
    """Sums of sums over groups that overlap, of which no process is in all."""
    for name, ranks in (("left", [0, 1]), ("right", [1, 2])):
        if rank in ranks:
            create_group(name, ranks)

    class Chain(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            if rank < 2:
                x = collective.all_reduce(x, group="left")
            if rank > 0:
                x = collective.all_reduce(x, group="right")
            return collective.all_reduce(x)

    x = Tensor(np.ones(5, np.float32))
    # 2, 2 + 1 and as much: 2 + 3 + 3.
    assert graphc.compile(Chain(), x)(x).asnumpy().tolist() == [8.0] * 5


def peers(rank: int, size: int) -> None:
    """Two processes that both send first; a network of which each has a half, with its gradients; what cannot be."""
    graphc.set_auto_parallel_context(parallel_mode="stand_alone")
    for call in (
        lambda: collective.send(Tensor([1.0]), size),
        lambda: collective.send(Tensor([1.0]), rank),
        lambda: collective.receive((2,), graphc.float32, 0 if rank else 1, tag=-1),
        lambda: ops.Receive(0, 0, 3, graphc.float32),
        lambda: ops.Send(0, 0, group_back="other"),
    ):
        with pytest.raises((graphc.ArgumentValueError, graphc.ArgumentTypeError)):
            call()
    if rank > 1:
        return

    class Swap(nn.Cell):
        def __init__(self, count: int, dtype: str) -> None:
            super().__init__()
            self.send, self.receive = ops.Send(3, 1 - rank), ops.Receive(3, 1 - rank, [count], dtype)

        def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
            sent = self.send(x * 2)
            return self.receive(), sent

    for count, dtype in ((5, "float32"), (1 << 18, "float32"), (7, "bfloat16"), (0, "int32"), (3, "int64")):
        x = Tensor(np.full(count, rank + 1)).astype(dtype)
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        made = [Swap(count, dtype)(x)]
        graphc.set_context(mode=graphc.GRAPH_MODE)
        made.append(graphc.compile(Swap(count, dtype), x)(x))
        with debug(jit=False):
            made.append(graphc.compile(Swap(count, dtype), x)(x))
        for got, sent in made:
            assert got.tensor_type.dtype == dtype
            np.testing.assert_array_equal(got.asnumpy(), np.full(count, 2 * (2 - rank)))
            np.testing.assert_array_equal(sent.asnumpy(), np.full(count, 2 * (rank + 1)))

    class First(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.send = graphc.Parameter(W, name="w"), ops.Send(0, 1)

        def construct(self, x: Tensor) -> Tensor:
            return ops.reduce_sum(self.send(ops.tanh(ops.matmul(x, self.w)))) * 0.0

    class Second(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.v, self.receive = graphc.Parameter(V, name="v"), ops.Receive(0, 0, (4, 3), graphc.float32)

        def construct(self, x: Tensor) -> Tensor:
            return ops.reduce_sum(ops.square(ops.matmul(self.receive(), self.v)))

    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    h = np.tanh(x @ W)
    wanted = x.T @ (2 * (h @ V) @ V.T * (1 - h * h)) if rank == 0 else h.T @ (2 * h @ V)
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        net = First() if rank == 0 else Second()
        (p,) = net.trainable_params()
        before = p.asnumpy()
        nn.TrainOneStepCell(net, nn.SGD([p], 1.0))(Tensor(x))
        np.testing.assert_allclose(before - p.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    graphc.set_context(mode=graphc.GRAPH_MODE)


W, V = np.arange(6, dtype=np.float32).reshape(2, 3) / 3, np.ones((3, 1), np.float32)


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Dense(20, 32, activation="relu"), nn.Dense(32, 5)

    def construct(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


def with_loss(net: nn.Cell) -> nn.Cell:
    return nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))


def trajectory(
    rank: int, size: int, buckets: list[int] | None, poisoned: int | None, wire: str = "float32"
) -> dict[str, Any]:
    """Some steps with a loss scale, this process's part of every batch; one batch may have an infinity, in the first part."""
    graphc.set_auto_parallel_context(
        parallel_mode="data_parallel", gradients_mean=True, all_reduce_fusion_config=buckets, wire_dtype=wire
    )
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(STEPS, 12, 20)).astype(np.float32)
    ys = rng.integers(0, 5, (STEPS, 12)).astype(np.int32)
    if poisoned is not None:
        xs[poisoned, 0, 0] = np.inf
    graphc.set_seed(7 + rank)  # The first process's weights count.
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    manager = nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)
    step = nn.TrainOneStepWithLossScaleCell(with_loss(net), optimizer, manager).set_train()
    part = slice(rank * 12 // size, (rank + 1) * 12 // size)
    seen = []
    for x, y in zip(xs, ys, strict=True):
        _, overflow, scale = step(Tensor(x[part]), Tensor(y[part]))
        seen.append([bool(overflow), float(scale)])
    compiled = graphc.compile(step, Tensor(xs[0, part]), Tensor(ys[0, part]))
    names = [n.op.name for n in compiled.graph if n.op.name.startswith(("AllReduce", "AllToAll"))]
    weights = np.concatenate([p.asnumpy().ravel() for p in step.get_parameters()])
    return {"weights": weights.tolist(), "seen": seen, "reductions": names, "hit": compiled.cache_hit}


class Clipping(nn.TrainOneStepWithLossScaleCell):
    def apply_update(self, gradients: Any) -> Any:
        return self.optimizer(ops.clip_by_global_norm(gradients, 0.05))


#: Optimizers of the network's parameters, and whether parts of their updates are computed to the same bits.
OPTIMIZERS = {
    "Adam": lambda ps: nn.Adam(ps, 0.01),
    "AdamWeightDecay": lambda ps: nn.AdamWeightDecay(ps, 0.01, weight_decay=0.02),
    "Momentum": lambda ps: nn.Momentum(
        [{"params": ps[:1], "lr": 0.05, "weight_decay": 0.01}, {"params": ps[1:]}], 0.1, 0.9, loss_scale=4.0
    ),
    "SGD": lambda ps: nn.SGD(ps, 0.1, momentum=0.9, weight_decay=0.01),
    "Adagrad": lambda ps: nn.Adagrad(ps),
    "Adadelta": lambda ps: nn.Adadelta(ps),
    "AdaMax": lambda ps: nn.AdaMax(ps),
    "AdamW": lambda ps: graphc.nn.optim.decoupled.AdamW(ps, weight_decay=0.1),
    "RMSProp": lambda ps: nn.RMSProp(ps, centered=True),
    "Rprop": lambda ps: nn.Rprop(ps),
    "FTRL": lambda ps: nn.FTRL(ps),
    "ProximalAdagrad": lambda ps: nn.ProximalAdagrad(ps),
    "ASGD": lambda ps: nn.ASGD(ps),
    "LazyAdam": lambda ps: nn.LazyAdam(ps),
    # Its rates are made of whole gradients: parts are taken of these.
    "LARS": lambda ps: nn.LARS(nn.Momentum(ps, 0.1, 0.9)),
}


def in_parts(shared: bool, threshold: int = 0, wire: str = "float32") -> None:
    graphc.set_auto_parallel_context(
        parallel_mode="data_parallel",
        gradients_mean=True,
        all_reduce_fusion_config=None,
        wire_dtype=wire,
        enable_parallel_optimizer=shared,
        parallel_optimizer_config={"parallel_optimizer_threshold": threshold},
    )


def updated(
    rank: int, size: int, name: str, shared: bool, clip: bool = False, threshold: int = 0, wire: str = "float32"
) -> dict[str, Any]:
    """Some steps with one optimizer, whose updates the processes share or not."""
    in_parts(shared, threshold, wire)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 20)).astype(np.float32), rng.integers(0, 5, 12).astype(np.int32)
    graphc.set_seed(7)
    net = Net()
    net.b.bias.parallel_optimizer = False
    params = net.trainable_params()
    optimizer = OPTIMIZERS[name](params)
    kind = Clipping if clip else nn.TrainOneStepWithLossScaleCell
    step = kind(with_loss(net), optimizer, nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)).set_train()
    part = slice(rank * 12 // size, (rank + 1) * 12 // size)
    seen = []
    for turn in range(4):
        poisoned = x.copy()
        if turn == 1:
            poisoned[-1, 0] = np.inf  # The last process's part.
        _, overflow, scale = step(Tensor(poisoned[part]), Tensor(y[part]))
        seen.append([bool(overflow), float(scale)])
    compiled = graphc.compile(step, Tensor(x[part]), Tensor(y[part]))
    state = {p.name: p.storage.size for p in optimizer.get_parameters() if not p.requires_grad and p.size > 1}
    return {
        "weights": [float(v) for p in params for v in p.asnumpy().ravel()],
        "seen": seen,
        "state": state,
        "ops": [n.op.name for _, n in walk(compiled.graph)],
        "nbytes": compiled.memory["arena"],
    }


def shared_updates(rank: int, size: int) -> dict[str, Any]:
    """Every optimizer that can do with parts, beside itself without; what is said of the others."""
    found: dict[str, Any] = {}
    for name in list(OPTIMIZERS)[: None if size == 2 else 3]:
        found[name] = [updated(rank, size, name, shared) for shared in (False, True)]
    found["clipped"] = [updated(rank, size, "Adam", shared, clip=True) for shared in (False, True)]
    found["large"] = [updated(rank, size, "Adam", True, threshold=2)]
    found["narrow"] = [updated(rank, size, "Momentum", shared, wire="bfloat16") for shared in (False, True)]
    with debug(jit=False):
        found["checked"] = [updated(rank, size, "Momentum", shared) for shared in (False, True)]
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    in_parts(True)
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    before = [p.asnumpy() for p in net.trainable_params()]
    optimizer(tuple(ops.ones_like(p) for p in net.trainable_params()))
    for p, old in zip(net.trainable_params(), before, strict=True):
        np.testing.assert_allclose(p.asnumpy(), old - np.float32(0.1), rtol=1e-6)
    graphc.set_context(mode=graphc.GRAPH_MODE)

    class Own(nn.Momentum):
        def update(self, index: int, gradient: Tensor, lr: Tensor) -> Any:
            return ops.assign(self.parameters[index], self.parameters[index] - gradient / ops.reduce_max(gradient))

    for kind, make in (
        ("Lamb", lambda ps: nn.Lamb(ps, 0.1)),
        ("AdaFactor", lambda ps: nn.AdaFactor(ps)),
        ("Own", lambda ps: Own(ps, 0.1, 0.9)),
    ):
        try:
            make(Net().trainable_params())
        except graphc.GraphcError as error:
            found[f"refused {kind}"] = str(error)
    return found


class Reducing(nn.Cell):
    """Gradients of some shapes, reduced."""

    def __init__(self, count: int) -> None:
        super().__init__()
        held = [graphc.Parameter(np.zeros(1, np.float32), name=f"p{k}") for k in range(count)]
        self.reducer = nn.DistributedGradReducer(held, mean=False)

    def construct(self, *gradients: Tensor) -> tuple[Tensor, ...]:
        return self.reducer(gradients)


def _set_and_reduce(mode: str, wire: Any) -> None:
    graphc.set_auto_parallel_context(parallel_mode=mode, wire_dtype=wire)
    Reducing(1)


def narrow(rank: int, size: int) -> None:
    """Sums that travel as bfloat16: within their bound, the same bits however they are made, infinities and NaNs in all."""
    shapes = ((7, 5), (13,), (), (2, 300))
    mine = [[np.random.default_rng([r, k]).normal(size=s) for k, s in enumerate(shapes)] for r in range(size)]
    mine[0][1][3], mine[-1][1][4], mine[-1][3][0, 7] = np.inf, np.nan, -np.inf
    xs = [Tensor(x, graphc.float32) for x in mine[rank]]
    found = []
    for buckets in (None, [1, 2]):
        graphc.set_auto_parallel_context(
            parallel_mode="data_parallel", all_reduce_fusion_config=buckets, wire_dtype="bfloat16"
        )
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        found.append(Reducing(len(xs))(*xs))
        graphc.set_context(mode=graphc.GRAPH_MODE)
        compiled = graphc.compile(Reducing(len(xs)), *xs)
        found.append(compiled(*xs))
        assert [n.op.name for n in compiled.graph].count("AllGatherStart") == (1 if buckets is None else 3)
        with debug(jit=False):
            found.append(graphc.compile(Reducing(len(xs)), *xs)(*xs))
    for made in found:
        for k, x in enumerate(made):
            np.testing.assert_array_equal(x.asnumpy(), found[0][k].asnumpy())
            everybody = np.array([np.float32(m[k]) for m in mine], np.float64)
            exact, size_of_all = everybody.sum(0), np.abs(everybody).sum(0)
            fine = np.isfinite(exact)
            np.testing.assert_array_equal(np.isfinite(x.asnumpy()), fine)
            error = np.abs(x.asnumpy()[fine] - exact[fine])
            assert np.all(error <= ((2**-7 + 2**-15) * size_of_all)[fine])
    for mode, wire, error in (
        ("data_parallel", "float16", graphc.ArgumentValueError),
        ("data_parallel", 16, graphc.ArgumentTypeError),
        ("stand_alone", "bfloat16", graphc.ArgumentValueError),
    ):
        with pytest.raises(error, match="wire_dtype"):
            _set_and_reduce(mode, wire)
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", wire_dtype="float32")


def refused(rank: int, size: int) -> dict[str, str]:
    """What processes that are about to do different things are told."""
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    told = {}

    class Unreduced(nn.TrainOneStepCell):
        def construct(self, *inputs: Any) -> Tensor:
            grads = self.grad_no_sens(self.network, self.weights)(*inputs)
            return ops.depend(self.network(*inputs), self.optimizer(grads))

    class OwnFlag(nn.TrainOneStepCell):
        def construct(self, *inputs: Any) -> Tensor:
            loss = self.network(*inputs)
            grads = self.grad_reducer(self.grad_no_sens(self.network, self.weights)(*inputs))
            if loss < 1e9:
                self.optimizer(grads)
            return loss

    class OwnTurn(nn.TrainOneStepCell):
        def construct(self, *inputs: Any) -> Tensor:
            loss = self.network(*inputs)
            if loss < 1e9:
                loss = collective.all_reduce(loss)
            return loss

    def train(kind: Any, count: int) -> None:
        net = Net()
        step = kind(with_loss(net), nn.SGD(net.trainable_params(), 0.1)).set_train()
        step(Tensor(np.ones((count, 20), np.float32)), Tensor(np.zeros(count, np.int32)))

    for mode in ("semi_auto_parallel", "auto_parallel"):
        with pytest.raises(graphc.ArgumentValueError, match="layers are not cut over them"):
            graphc.set_auto_parallel_context(parallel_mode=mode)

    for name, kind, count in (
        ("unreduced", Unreduced, 4),
        ("own flag", OwnFlag, 4),
        ("own turn", OwnTurn, 4),
        ("shapes", nn.TrainOneStepCell, 4 + (rank == size - 1)),
    ):
        try:
            train(kind, count)
        except graphc.GraphcError as error:
            told[name] = str(error)
    return told


def dropout(rank: int) -> list[float]:
    """Masks differ between processes, and this is what each one has dropped in a training step."""
    graphc.set_seed(5)

    class Dropped(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.drop = graphc.Parameter(np.ones(64, np.float32), name="w"), nn.Dropout(p=0.5)

        def construct(self, x: Tensor) -> Tensor:
            return ops.reduce_mean(self.drop(self.w * x))

    net = Dropped()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 1.0)).set_train()
    return [float(step(Tensor(np.arange(64, dtype=np.float32)))) for _ in range(3)]


def main(directory: Path, again: bool) -> None:
    init()
    rank, size = get_rank(), get_group_size()
    found: dict[str, Any] = {"rank": rank, "size": size}
    if size > 1:
        collectives(rank, size)
        gradients(rank, size)
        groups(rank, size)
        peers(rank, size)
        narrow(rank, size)
    found["wire"] = trajectory(rank, size, None, 3, "bfloat16")
    for buckets in (None, [1, 3]):
        found[f"buckets {buckets}"] = trajectory(rank, size, buckets, 3)
    if size > 1:
        found["refused"] = refused(rank, size)
        found["dropout"] = dropout(rank)
        found["shared"] = None if again else shared_updates(rank, size)
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "True")
