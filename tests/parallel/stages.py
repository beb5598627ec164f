"""A network in stages over processes: `mpiexec -n N python stages.py DIRECTORY STAGES`. See test_stages.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.parallel import get_group_size, get_rank, init

STEPS, ROWS, MICRO = 5, 24, 4


class First(nn.Cell):
    """Rows of a table, whose layer another stage uses, too."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.up = nn.Embedding(12, 8), nn.Dense(8, 16, activation="gelu")

    def construct(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        x = ops.reduce_mean(self.table(ids), 1)
        return x, self.up(x)


class Middle(nn.Cell):
    """What has statistics and draws; when `calm` none that depend on how data are divided."""

    def __init__(self, calm: bool) -> None:
        super().__init__()
        self.fc = nn.Dense(16, 8, has_bias=False)
        self.norm, self.drop = (nn.LayerNorm((8,)), None) if calm else (nn.BatchNorm1d(8), nn.Dropout(p=0.2))

    def construct(self, x: Tensor) -> Tensor:
        x = self.norm(self.fc(x))
        return x if self.drop is None else self.drop(x)


class Last(nn.Cell):
    """What has a gradient of its own where `wild` is large."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.extra = nn.LayerNorm((8,)), Parameter(np.zeros(12, np.float32), name="extra")

    def construct(self, x: Tensor, skip: Tensor, table: Tensor, wild: Tensor) -> Tensor:
        return ops.matmul(self.norm(x + skip), ops.transpose(table, (1, 0))) + self.extra * wild


class Net(nn.Cell):
    def __init__(self, stages: int, calm: bool = False) -> None:
        super().__init__()
        self.first, self.middle, self.last = First(), Middle(calm), Last()
        for k, cell in enumerate((self.first, self.middle, self.last)):
            cell.pipeline_stage = k * stages // 3

    def construct(self, ids: Tensor, wild: Tensor) -> Tensor:
        skip, x = self.first(ids)
        return self.last(self.middle(x), skip, self.first.table.embedding_table, wild)


class WithLoss(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net, self.loss = net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, ids: Tensor, wild: Tensor, labels: Tensor) -> Tensor:
        return self.loss(self.net(ids, wild), labels)


class Clipped(nn.TrainOneStepWithLossScaleCell):
    def apply_update(self, gradients: Any) -> Any:
        return self.optimizer(ops.clip_by_global_norm(gradients, 0.5))


def data() -> list[tuple[Any, Any, Any]]:
    rng = np.random.default_rng(0)
    made = []
    for turn in range(STEPS):
        wild = np.full((ROWS, 1), 0.1, np.float32)
        if turn == 2:
            wild[7] = 3e38  # In one micro batch, and in the gradient of one parameter alone.
        ids, labels = rng.integers(0, 12, (ROWS, 3)), rng.integers(0, 12, ROWS)
        made.append((ids.astype(np.int32), wild, labels.astype(np.int32)))
    return made


def stages_now() -> int:
    return int(graphc.get_auto_parallel_context("pipeline_stages"))


def make(kind: Any = Clipped, optimizer: Any = None, net: Any = Net) -> Any:
    graphc.set_seed(7 if stages_now() == 1 else 7 + get_rank())  # The first process's weights count.
    network = net(stages_now())
    cell = nn.PipelineCell(WithLoss(network), MICRO)
    made = (optimizer or (lambda ps: nn.AdamWeightDecay(ps, 0.01, weight_decay=0.02)))(network.trainable_params())
    return kind(cell, made, nn.DynamicLossScaleUpdateCell(1024.0, 2, 3)).set_train()


def state(cell: Any) -> dict[str, list[float]]:
    return {p.name: np.asarray(p.whole(), np.float64).ravel().tolist() for p in cell.get_parameters()}


def own(arrays: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """This pipeline's rows of a batch. Each part of it is divided among the pipelines: parts are the same rows everywhere."""
    stages = stages_now()
    count = get_group_size() // stages
    place, size = get_rank() % count, ROWS // MICRO // count
    rows = [k * ROWS // MICRO + place * size + r for k in range(MICRO) for r in range(size)]
    return tuple(Tensor(a[rows]) for a in arrays)


def trajectory(directory: Path, save: bool, step: Any = None) -> dict[str, Any]:
    step, batches, seen = step or make(), data(), []
    for turn, batch in enumerate(batches):
        loss, overflow, scale = step(*own(batch))
        seen.append([float(loss), bool(overflow), float(scale)])
        if save and turn == 2:
            graphc.save_checkpoint(step, directory / "net.ckpt")
    compiled = graphc.compile(step, *own(batches[0]))
    network = step.network.network.net
    held = [p.name for p in step.get_parameters() if p.cut is None or p.cut.is_here]
    network.set_train(False)
    return {
        "weights": state(step),
        "seen": seen,
        "held": held,
        "arena": compiled.memory["arena"],
        "logits": network(*own(batches[1])[:2]).asnumpy().tolist(),
        "text": str(compiled.graph),
    }


def goes_on(directory: Path) -> dict[str, list[float]]:
    """From the checkpoint, which other processes have saved, two steps further."""
    step, batches = make(), data()
    graphc.load_param_into_net(step, graphc.load_checkpoint(directory / "net.ckpt"), strict_load=True)
    for batch in batches[3:]:
        step(*own(batch))
    return state(step)


def function() -> list[float]:
    """A step that is a function, in MindSpore's mode for stages where each process is one."""
    if get_group_size() == stages_now() > 1:
        graphc.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    graphc.set_seed(5)
    network = Net(stages_now())
    cell = nn.PipelineCell(WithLoss(network), MICRO).set_train()
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    reducer = nn.DistributedGradReducer(optimizer.parameters)
    gradient = graphc.value_and_grad(cell, None, optimizer.parameters)

    @graphc.jit
    def train(*batch: Tensor) -> Tensor:
        loss, grads = gradient(*batch)
        grads = ops.clip_by_global_norm(reducer(grads), 1.0)
        return ops.depend(loss, optimizer(grads))

    losses = [float(train(*own(batch))) for batch in data()[:2]]
    if get_group_size() > 1:
        graphc.set_auto_parallel_context(parallel_mode="data_parallel")
    return losses


def arenas() -> list[int]:
    """What a step of four and of eight micro batches of the same size needs."""
    made = []
    for count in (4, 8):
        network = nn.SequentialCell(nn.Dense(64, 64, activation="relu"), nn.Dense(64, 64, activation="relu"))
        for k, cell in enumerate(network):
            cell.pipeline_stage = k * stages_now() // 2
        parts = nn.PipelineCell(nn.WithLossCell(network, nn.MSELoss()), count)
        step = nn.TrainOneStepCell(parts, nn.SGD(network.trainable_params(), 0.1))
        x = Tensor(np.ones((32 * count, 64), np.float32))
        made.append(graphc.compile(step, x, x).memory["arena"])
    return made


def refused() -> dict[str, str]:
    told: dict[str, str] = {}

    def attempt(name: str, call: Any) -> None:
        try:
            call()
        except graphc.GraphcError as error:
            told[name] = str(error)

    class Backwards(Net):
        def construct(self, ids: Tensor, wild: Tensor) -> Tensor:
            skip, x = self.first(ids)
            y = self.last(self.middle(x), skip, self.first.table.embedding_table, wild)
            return y + ops.reduce_mean(self.first(ops.cast(ops.argmax(y, 1), "int32").reshape((-1, 1)))[0])

    class Chosen(Net):
        def construct(self, ids: Tensor, wild: Tensor) -> Tensor:
            skip, x = self.first(ids)
            if ops.reduce_sum(x) > 0:
                x = self.middle(x)
            else:
                x = skip
            return self.last(x, skip, self.first.table.embedding_table, wild)

    class Told(Net):
        def construct(self, ids: Tensor, wild: Tensor) -> Tensor:
            skip, x = self.first(ids)
            return self.last(self.middle(ops.AllReduce()(x)), skip, self.first.table.embedding_table, wild)

    batch = own(data()[0])
    attempt("backwards", lambda: make(net=Backwards)(*batch))
    attempt("chosen", lambda: make(net=Chosen)(*batch))
    attempt("told", lambda: make(net=Told)(*batch))
    attempt("beyond", lambda: make(net=lambda stages: Net(3 * stages))(*batch))
    attempt("few", lambda: nn.PipelineCell(Net(1), 1))
    attempt("other data", lambda: make()(*(Tensor(x.asnumpy()[:: 1 - 2 * (get_rank() % 2)]) for x in batch)))
    for name, value in (("enable_parallel_optimizer", True), ("model_parallel", 2), ("pipeline_stages", 3)):
        attempt(name, lambda name=name, value=value: graphc.set_auto_parallel_context(**{name: value}))
    step = make()
    step(*batch)
    attempt("elsewhere", lambda: [p.asnumpy() for p in step.trainable_params()])
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    attempt("eager", lambda: make()(*batch))
    graphc.set_context(mode=graphc.GRAPH_MODE)
    graphc.set_auto_parallel_context(pipeline_stages=1)
    attempt("no stages", lambda: step.network.network.net(*batch[:2]))
    return told


def main(directory: Path, stages: int) -> None:
    init()
    rank, size = get_rank(), get_group_size()
    graphc.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True, pipeline_stages=stages)
    found: dict[str, Any] = {}
    if size in (1, 4):
        calm = make(net=lambda stages: Net(stages, calm=True))
        found["calm"] = trajectory(directory, save=False, step=calm)
    if size < 4:
        found["trained"] = trajectory(directory, save=size == 3)
        found["again"] = trajectory(directory, save=False)["weights"]
        found["goes on"] = goes_on(directory)
        found["function"] = function()
    if size < 3:
        found["arenas"] = arenas()
    if size == 2:
        with debug(jit=False):
            found["checked"] = trajectory(directory, save=False)["weights"]
        found["refused"] = refused()
    (directory / f"{size}-{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
