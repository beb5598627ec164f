"""A network whose layers are cut over processes: `mpiexec -n N python layers.py DIRECTORY PARTS`. See test_cut_layers.py."""

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
from graphc.parallel import get_group_size, get_rank, init

STEPS, ROWS = 5, 12


class Net(nn.Cell):
    """Rows of a table, two layers between them, and one that all have whole."""

    def __init__(self, table: str = "rows") -> None:
        super().__init__()
        self.table = nn.Embedding(12, 8, shard=table)
        wide = "columns" if table == "rows" else None
        self.up = nn.Dense(8, 16, activation="gelu", shard=wide)
        self.down = nn.Dense(16 if wide else 8, 6, shard="rows")
        self.wide = wide
        self.norm, self.drop, self.head = nn.LayerNorm((6,)), nn.Dropout(p=0.1), nn.Dense(6, 4)

    def construct(self, ids: Tensor) -> Tensor:
        x = ops.reduce_mean(self.table(ids), 1)
        if self.wide:
            x = self.up(x)
        return self.head(self.drop(self.norm(self.down(x))))


class InParts(nn.Cell):
    """Nothing in it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 8, shard="columns")
        self.down, self.drop = nn.Dense(8, 4, has_bias=False, shard="rows"), None

    def construct(self, ids: Tensor) -> Tensor:
        return self.down(ops.reduce_mean(self.table(ids), 1))


class Clipped(nn.TrainOneStepWithLossScaleCell):
    def apply_update(self, gradients: Any) -> Any:
        return self.optimizer(ops.clip_by_global_norm(gradients, 0.05))


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 12, (STEPS, ROWS, 3)).astype(np.int32), rng.integers(0, 4, (STEPS, ROWS)).astype(np.int32)


def make(
    kind: Any = nn.TrainOneStepWithLossScaleCell,
    optimizer: Any = None,
    alike: bool = False,
    net: Any = Net,
    **terms: Any,
) -> Any:
    graphc.set_seed(7 if alike else 7 + get_rank())  # The first process's weights count.
    network = net(**terms)
    network.drop = nn.Dropout(p=1e-9)
    loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = (optimizer or (lambda ps: nn.AdamWeightDecay(ps, 0.01, weight_decay=0.02)))(network.trainable_params())
    return kind(loss, optimizer, nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)).set_train()


def state(cell: Any) -> dict[str, list[float]]:
    return {p.name: np.asarray(p.whole(), np.float64).ravel().tolist() for p in cell.get_parameters()}


def trajectory(directory: Path, part: slice, save: bool, **net: Any) -> dict[str, Any]:
    step, (xs, ys) = make(**net), data()
    first, seen, two = state(step), [], None
    for turn, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if turn == 2:
            # An infinite scale: infinite gradients.
            held = step.scale_sense.asnumpy()
            step.set_sense_scale(Tensor(np.float32(np.inf)))
        loss, overflow, scale = step(Tensor(x[part]), Tensor(y[part]))
        if turn == 2:
            step.set_sense_scale(Tensor(held))
        seen.append([bool(overflow), float(scale)])
        if save and turn == 1:
            two = state(step)
            graphc.save_checkpoint(step, directory / "net.ckpt")
    compiled = graphc.compile(step, Tensor(x[part]), Tensor(y[part]))
    return {
        "first": first,
        "two": two,
        "weights": state(step),
        "seen": seen,
        "held": {p.name: p.size for p in step.get_parameters()},
        "ops": [f"{n.op.name} {n.attrs.get('group')}" for _, n in walk(compiled.graph) if "group" in n.attrs],
        "loss": float(loss),
    }


def goes_on(directory: Path, part: slice) -> dict[str, list[float]]:
    """From the checkpoint, which other processes have saved, two steps further."""
    step, (xs, ys) = make(), data()
    graphc.load_param_into_net(step, graphc.load_checkpoint(directory / "net.ckpt"), strict_load=True)
    for x, y in zip(xs[3:], ys[3:], strict=True):
        step(Tensor(x[part]), Tensor(y[part]))
    return state(step)


def own_overflow(part: slice) -> list[bool]:
    """Weights of one process alone give it infinite gradients: all skip."""
    step, (xs, ys) = make(), data()
    step(Tensor(xs[0][part]), Tensor(ys[0][part]))
    before = state(step)
    table = step.network.backbone_network.table.embedding_table
    if get_rank() == get_group_size() - 1:
        table.set_data(Tensor(np.full(table.shape, 3e38, np.float32)))
    held = table.asnumpy()
    _, overflow, _ = step(Tensor(xs[1][part]), Tensor(ys[1][part]))
    after = state(step)
    np.testing.assert_array_equal(table.asnumpy(), held)
    names = [n for n in before if "table" not in n and "scale" not in n and "iter" not in n]
    return [bool(overflow), all(before[n] == after[n] for n in names)]


def refused(part: slice, parts: int) -> dict[str, str]:
    told = {}

    def attempt(name: str, call: Any) -> None:
        try:
            call()
        except graphc.GraphcError as error:
            told[name] = str(error)

    (xs, ys) = data()
    batch = Tensor(xs[0][part]), Tensor(ys[0][part])
    attempt("clipped", lambda: make(Clipped)(*batch))
    attempt("clipped parts", lambda: make(Clipped, net=InParts)(*batch))
    attempt("Lamb", lambda: make(optimizer=lambda ps: nn.Lamb(ps, 0.1)))
    attempt("LARS", lambda: make(optimizer=lambda ps: nn.LARS(nn.Momentum(ps, 0.1, 0.9))))
    central = [lambda ps: nn.Momentum([{"params": ps, "grad_centralization": True}], 0.1, 0.9)]
    attempt("centralized", lambda: make(optimizer=central[0]))
    attempt("uneven", lambda: nn.Dense(8, 9, shard="columns"))
    attempt("one hot", lambda: nn.Embedding(8, 8, use_one_hot=True, shard="rows"))
    attempt("other", lambda: nn.Dense(8, 8, shard="diagonal"))
    attempt("whole operand", lambda: nn.Dense(8, 8, shard="rows")(Tensor(np.ones((2, 8), np.float32))))
    attempt("degree", lambda: nn.DistributedGradReducer([], degree=get_group_size()))
    own = slice(get_rank(), get_rank() + 3)
    attempt("other data", lambda: make()(Tensor(xs[0][own]), Tensor(ys[0][own])))
    graphc.set_auto_parallel_context(enable_parallel_optimizer=True)
    attempt("parts of parts", make)
    graphc.set_auto_parallel_context(enable_parallel_optimizer=False, parallel_mode="stand_alone")
    attempt("stand alone", lambda: nn.Dense(8, 8, shard="rows"))
    graphc.set_auto_parallel_context(parallel_mode="data_parallel")
    for wrong, error in (
        (3, graphc.ArgumentValueError),
        (0, graphc.ArgumentValueError),
        ("2", graphc.ArgumentTypeError),
    ):
        with pytest.raises(error, match="model_parallel"):
            graphc.set_auto_parallel_context(model_parallel=wrong)
    return told


def main(directory: Path, parts: int) -> None:
    init()
    rank, size = get_rank(), get_group_size()
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, model_parallel=parts)
    place, count = rank // parts, size // parts
    part = slice(place * ROWS // count, (place + 1) * ROWS // count)
    found: dict[str, Any] = {"rows": trajectory(directory, part, save=size == 4)}
    found["columns"] = trajectory(directory, part, save=False, table="columns")
    if size == 4:
        graphc.set_auto_parallel_context(wire_dtype="bfloat16")
        found["wire"] = trajectory(directory, part, save=False)
        graphc.set_auto_parallel_context(wire_dtype="float32")
        with debug(jit=False):
            found["checked"] = trajectory(directory, part, save=False)
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        step, (xs, ys) = make(alike=True), data()
        for x, y in zip(xs[:2], ys[:2], strict=True):
            step(Tensor(x[part]), Tensor(y[part]))
        found["eager"] = state(step)
        graphc.set_context(mode=graphc.GRAPH_MODE)
        found["own overflow"] = own_overflow(part)
        found["refused"] = refused(part, parts)
    found["goes on"] = goes_on(directory, part)
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
