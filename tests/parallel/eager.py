"""What several processes tell each other by the functions of `mint.distributed`, `ops.communication` and `comm_func`: the program
that test_eager.py starts. Every process computes all processes' tensors, and with NumPy what must come out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.compat import mint_distributed as dist
from graphc.errors import DisagreementError
from graphc.ops import communication
from graphc.parallel import comm_func, create_group, get_local_rank, get_local_rank_size, get_process_group_ranks
from tests.parallel.extremes import extremes
from tests.parallel.messages import messages

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool", "complex64")
SHAPES = ((2, 3), (), (5,), (0, 3))


def value(rank: int, shape: Sequence[int], dtype: str = "float32", first: int = 1) -> Tensor:
    """The tensor of a process."""
    numbers = (np.arange(np.prod(shape, dtype=int)).reshape(shape) + first + 2 * rank) % (2 if dtype == "bool" else 9)
    made = Tensor(numbers.astype(np.float32)).astype(dtype)
    return made * Tensor(1 + 2j).astype(dtype) if dtype == "complex64" else made


def array(x: Tensor) -> Any:
    """In a dtype that NumPy computes with."""
    return x.float().asnumpy() if x.tensor_type.dtype in ("float16", "bfloat16") else x.asnumpy()


def same(got: Tensor, wanted: Any, what: str = "") -> None:
    assert got.shape == np.shape(wanted), what
    np.testing.assert_array_equal(array(got), wanted, err_msg=what)


def tensors(rank: int, ranks: Sequence[int], group: str | None) -> None:
    """Of one tensor each, for every dtype and shape; with handles and without."""
    count, last = len(ranks), ranks[-1]
    me = ranks.index(rank)
    for dtype in DTYPES:
        for shape in SHAPES if dtype == "float32" else SHAPES[:1]:
            everybody = [array(value(r, shape, dtype)) for r in ranks]
            for later in (False, True) if dtype == "float32" else (len(dtype) % 2 == 0,):
                call = {"group": group, "async_op": later}
                x = value(rank, shape, dtype)
                done(dist.broadcast(x, last, **call), later)
                same(x, everybody[-1], dtype)
                rows = [np.atleast_1d(e) for e in everybody]
                x = value(rank, shape, dtype)
                out = ops.zeros((len(rows[0]) * count, *shape[1:]), x.dtype)
                done(dist.all_gather_into_tensor(out, x, **call), later)
                same(out, np.concatenate(rows), dtype)
                outs = [ops.zeros_like(x) for _ in ranks]
                done(dist.all_gather(outs, x, **call), later)
                for got, wanted in zip(outs, everybody, strict=True):
                    same(got, wanted, dtype)
                outs = [ops.zeros_like(x) for _ in ranks]
                done(dist.gather(x, outs if rank == last else None, last, **call), later)
                for got, wanted in zip(outs, everybody, strict=True):
                    same(got, wanted if rank == last else 0 * wanted, dtype)
                given = [value(5 + k, shape, dtype) for k in range(count)]
                done(dist.scatter(x, given if rank == last else None, last, **call), later)
                same(x, array(given[me]), dtype)
                sent = [value(rank, shape, dtype, first=k) for k in range(count)]
                done(dist.all_to_all(outs, sent, **call), later)
                for got, r in zip(outs, ranks, strict=True):
                    same(got, array(value(r, shape, dtype, first=me)), dtype)
                reductions(rank, ranks, dtype, shape, call, later)


def reductions(
    rank: int, ranks: Sequence[int], dtype: str, shape: Sequence[int], call: dict[str, Any], later: bool
) -> None:
    everybody = [array(value(r, shape, dtype)) for r in ranks]
    me, last = ranks.index(rank), ranks[-1]
    for op in ("sum", "prod", "max", "min", "avg"):
        x = value(rank, shape, dtype)
        if dtype == "bool" or (dtype == "complex64" and op not in ("sum", "avg")):
            with pytest.raises(graphc.DTypeError, match=r"all_reduce: the tensor is .*expected"):
                dist.all_reduce(x, op, **call)
            continue
        wanted = reduced(everybody, op, dtype)
        done(dist.all_reduce(x, op, **call), later)
        close(x, wanted, f"{op} {dtype} {shape}")
        x = value(rank, shape, dtype)
        done(dist.reduce(x, last, op, **call), later)
        close(x, wanted if rank == last else everybody[me], op)
        given = [value(rank, shape, dtype, first=k) for k in range(len(ranks))]
        own = reduced([array(value(r, shape, dtype, first=me)) for r in ranks], op, dtype)
        done(dist.reduce_scatter(x, given, op, **call), later)
        close(x, own, op)
        rows = ops.stack(given)
        out = ops.zeros((1, *shape), x.dtype)
        done(dist.reduce_scatter_tensor(out, rows, op, **call), later)
        close(out[0], own, op)
        same(rows, array(ops.stack(given)))  # What is given stays as it was.


def reduced(everybody: Sequence[Any], op: str, dtype: str) -> Any:
    total = {"sum": np.sum, "avg": np.sum, "prod": np.prod, "max": np.max, "min": np.min}[op](everybody, 0)
    if op != "avg":
        return total.astype(everybody[0].dtype)
    return total // len(everybody) if "int" in dtype else total / len(everybody)


def close(got: Tensor, wanted: Any, what: str) -> None:
    assert got.shape == np.shape(wanted), what
    rtol = {"float16": 1e-3, "bfloat16": 8e-3}.get(got.tensor_type.dtype, 1e-6)
    np.testing.assert_allclose(array(got), wanted, rtol=rtol, err_msg=what)


def done(handle: Any, later: bool) -> None:
    assert (handle is not None) == later
    if later:
        handle.wait()
        handle.wait()


def uneven(rank: int, size: int) -> None:
    """Parts of other sizes for each process, none at all among them."""
    counts = [(2 * r) % 5 for r in range(size)]
    everybody = [np.arange(3 * n, dtype=np.float32).reshape(n, 3) + r for r, n in enumerate(counts)]
    out = ops.zeros((sum(counts), 3))
    dist.all_gather_into_tensor_uneven(out, Tensor(everybody[rank]), counts)
    same(out, np.concatenate(everybody))
    whole = [np.arange(3.0 * sum(counts), dtype=np.float32).reshape(-1, 3) * (r + 1) for r in range(size)]
    part = ops.zeros((counts[rank], 3))
    dist.reduce_scatter_tensor_uneven(part, Tensor(whole[rank]), counts, "max")
    start = sum(counts[:rank])
    same(part, whole[-1][start : start + counts[rank]])
    # Rank i sends i + j rows to rank j.
    to = [[i + j for j in range(size)] for i in range(size)]
    sent = [np.arange(2.0 * sum(to[i]), dtype=np.float32).reshape(-1, 2) + 100 * i for i in range(size)]
    wanted = [sent[i][sum(to[i][:rank]) : sum(to[i][: rank + 1])] for i in range(size)]
    back = [row[rank] for row in to]
    for call in (
        lambda out: dist.all_to_all_single(out, Tensor(sent[rank]), back, to[rank]),
        lambda out: ops.all_to_all_v_c(out, Tensor(sent[rank]), [n for row in to for n in row]),
    ):
        out = ops.zeros((sum(back), 2))
        assert call(out) is None
        same(out, np.concatenate(wanted))
    shapes = [(n, 2) for n in back]
    made, _ = comm_func.all_to_all_with_output_shape(
        shapes, [Tensor(p) for p in np.split(sent[rank], np.cumsum(to[rank])[:-1])]
    )
    for got, want in zip(made, wanted, strict=True):
        same(got, want)
    gathered, part = ops.zeros((2 * size, 3)), ops.zeros((2, 3))
    dist.gather_into_tensor(gathered, value(rank, (2, 3)), size - 1)
    if rank == size - 1:
        same(gathered, np.concatenate([value(r, (2, 3)).asnumpy() for r in range(size)]))
        dist.scatter_tensor(part, gathered, size - 1)
    else:
        dist.scatter_tensor(part, part, size - 1)
    same(part, value(rank, (2, 3)).asnumpy())


def memory(rank: int, size: int) -> None:
    """What is written is the tensor's own memory, in order or not; a parameter; a part of another tensor."""
    base = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) * (rank + 1))
    total = np.arange(6).reshape(2, 3) * (size * (size + 1) // 2)
    turned = base.T
    dist.all_reduce(turned)
    same(turned, total.T)
    wide = ops.broadcast_to(Tensor([[1.0], [2.0]]), (2, 3))
    dist.all_reduce(wide)
    same(wide, size * np.array([[1, 1, 1], [2, 2, 2]]))
    w = graphc.Parameter(Tensor(np.full((2, 2), rank + 1.0, np.float32)), name="w")
    dist.broadcast(w, size - 1)
    same(w, np.full((2, 2), size))
    dist.all_reduce(w, "avg", async_op=True).wait()
    same(w, np.full((2, 2), size))
    out, x = ops.zeros((3, size)), value(rank, (3,))
    dist.all_gather_into_tensor(out.reshape(-1), x)
    x = value(rank, (size, 2))  # Both what is sent and what is received.
    dist.all_to_all_single(x, x)
    same(x, np.stack([value(r, (size, 2)).asnumpy()[rank] for r in range(size)]))
    x = value(rank, (size, 2))
    dist.all_gather_into_tensor(x.reshape(-1), x[rank])
    same(x, np.stack([value(r, (size, 2)).asnumpy()[r] for r in range(size)]))
    x = value(rank, (size, 2))
    dist.reduce_scatter_tensor(x[(rank + 1) % size].reshape(1, 2), x)
    same(x[(rank + 1) % size], np.sum([value(r, (size, 2)).asnumpy()[rank] for r in range(size)], 0))
    xs = [value(rank, (2,), first=k) for k in range(size)]
    dist.scatter(xs[-1], xs)  # What the last process gets is what the first one writes.
    same(xs[-1], value(0, (2,), first=rank).asnumpy())
    nothing = Tensor(np.zeros((0, 4), np.float32))
    dist.all_to_all_single(nothing, nothing)


def groups(rank: int, size: int) -> None:
    """Groups that overlap, used in turns; of one; names of those that this process is not in."""
    pairs = [dist.new_group([(k + 1) % size, k]) for k in range(size)]
    assert len(set(pairs)) == (1 if size == 2 else size)
    for turn in range(2):
        for k, pair in enumerate(pairs):
            ranks = sorted({k, (k + 1) % size})
            assert dist.get_process_group_ranks(pair) == ranks
            assert dist.get_world_size(pair) == len(ranks)
            assert dist.get_rank(pair) == (ranks.index(rank) if rank in ranks else -1)
            assert dist.get_global_rank(pair, 1) == ranks[1]
            assert dist.get_group_rank(pair, ranks[1]) == 1
            if rank in ranks:
                x = value(rank, (4,))
                dist.all_reduce(x, group=pair, async_op=bool(turn)) and None
                dist.broadcast(x, ranks[1], group=pair)
                same(x, sum(value(r, (4,)).asnumpy() for r in ranks))
            else:
                with pytest.raises(graphc.ArgumentValueError, match="is in no group"):
                    dist.barrier(pair)
    own = dist.new_group([rank])
    x = value(rank, (4,))
    dist.all_reduce(x, "avg", own)
    same(x, value(rank, (4,)).asnumpy())
    assert get_process_group_ranks(own) == [rank]
    for ranks in ([], [0, 0], [size], [-1]):
        with pytest.raises(graphc.ArgumentValueError, match="rank_ids must be distinct numbers"):
            dist.new_group(ranks)
    if size > 2 and rank in (1, 2):
        create_group("back", [2, 1])
        assert (get_local_rank("back"), get_local_rank_size("back")) == (2 - rank, 2)
        tensors(rank, [2, 1], "back")
        x = value(rank, (2,))
        same(comm_func.broadcast(x, 2, "back"), value(2, (2,)).asnumpy())
        assert (comm_func.reduce(x, 1, group="back").asnumpy() != 0).any() == (rank == 1)
    for pair in sorted(set(pairs)):
        dist.destroy_process_group(pair)
    assert dist.get_rank(pairs[0]) == dist.get_world_size(pairs[0]) == -1


def objects(rank: int, size: int) -> None:
    """Python objects of every length."""
    own = {"rank": rank, "text": "x" * rank * 1000, "tensor": np.arange(rank)}
    held: list[Any] = [None] * size
    dist.all_gather_object(held, own)
    assert [h["rank"] for h in held] == list(range(size))
    assert [len(h["text"]) for h in held] == [1000 * r for r in range(size)]
    held = [None] * size
    dist.gather_object((rank, "é"), held if rank == size - 1 else None, size - 1)
    assert held == ([(r, "é") for r in range(size)] if rank == size - 1 else [None] * size)
    out: list[Any] = [None, "stays"]
    dist.scatter_object_list(out, [{r: Tensor([float(r)])} for r in range(size)] if rank == 0 else None)
    assert list(out[0]) == [rank]
    assert out[1] == "stays"
    same(out[0][rank], [float(rank)])
    held = [rank, "b", None] if rank == size - 1 else [None, None, None]
    dist.broadcast_object_list(held, size - 1)
    assert held == [size - 1, "b", None]
    if rank == 0:
        dist.send_object_list(["foo", 12, {1: 2}], 1)
    if rank == 1:
        held = [None] * 3
        assert dist.recv_object_list(held, 0) == 0
        assert held == ["foo", 12, {1: 2}]
    with pytest.raises(graphc.ArgumentTypeError, match="all_gather_object: a function cannot be sent"):
        dist.all_gather_object([None] * size, lambda: 0)
    with pytest.raises(graphc.ArgumentValueError, match=f"object_list must have {size} places"):
        dist.all_gather_object([None] * (size + 1), 0)


def peers(rank: int, size: int) -> None:
    """A ring in which all send first; tags; handles that are waited for in another order."""
    after, before = (rank + 1) % size, (rank - 1) % size
    for dtype in DTYPES:
        for shape in SHAPES if dtype == "float32" else SHAPES[:1]:
            x, y = value(rank, shape, dtype), ops.zeros_like(value(rank, shape, dtype))
            dist.send(x, after)
            assert dist.recv(y, before) == 0
            same(y, array(value(before, shape, dtype)), dtype)
    outs = [ops.zeros(3) for _ in range(4)]
    handles = [dist.irecv(out, before, tag=k % 2) for k, out in enumerate(outs)]
    for k in (1, 0, 3, 2):
        dist.isend(value(rank, (3,), first=k), after, tag=k % 2).wait()
    for k in (3, 1, 0, 2):
        handles[k].wait()
    for k, out in enumerate(outs):
        same(out, value(before, (3,), first=k).asnumpy())
    x, y, z = value(rank, (2, 2)), ops.zeros((2, 2)), ops.zeros((2, 2))
    batch = [
        dist.P2POp("irecv", z, rank),
        dist.P2POp(dist.isend, x, after),
        dist.P2POp(dist.irecv, y, before),
        dist.P2POp("isend", x * 2, rank),
    ]
    (handle,) = dist.batch_isend_irecv(batch)
    handle.wait()
    same(y, value(before, (2, 2)).asnumpy())
    same(z, 2 * x.asnumpy())
    made = comm_func.batch_isend_irecv(
        [comm_func.P2POp("isend", x, after), comm_func.P2POp("irecv", (2, 2), before, recv_dtype=graphc.float32)]
    )
    same(made[1], value(before, (2, 2)).asnumpy())
    comm_func.send(x, after)
    same(comm_func.recv(z, before), value(before, (2, 2)).asnumpy())
    with pytest.raises(graphc.ArgumentValueError, match="is this process itself"):
        dist.send(x, rank)
    dist.barrier()


def switched(rank: int, size: int) -> None:
    """`set_comm_ops_inplace`: functions return what they made, in steps that are compiled, too."""
    x = value(rank, (2 * size, 2))
    everybody = [value(r, (2 * size, 2)).asnumpy() for r in range(size)]
    assert ops.all_reduce(x) is None
    same(x, np.sum(everybody, 0))
    x = value(rank, (2 * size, 2))
    communication.set_comm_ops_inplace(False)
    mine = slice(2 * rank, 2 * rank + 2)
    for later in (False, True):
        made = [
            ops.all_reduce(x, async_op=later),
            ops.all_gather_into_tensor(None, x, async_op=later),
            ops.reduce_scatter_tensor(None, x, "avg", async_op=later),
            ops.all_to_all_single(x.shape, x, async_op=later),
        ]
        for _, handle in made:
            done(handle, later)
        same(made[0][0], np.sum(everybody, 0))
        same(made[1][0], np.concatenate(everybody))
        close(made[2][0], np.mean(everybody, 0)[mine], "avg")
        same(made[3][0], np.concatenate([e[mine] for e in everybody]))
    same(x, everybody[rank])
    with pytest.raises(graphc.ArgumentValueError, match="broadcast writes in place"):
        ops.broadcast(x, 0)

    class Returned(nn.Cell):
        def construct(self, x: Tensor) -> Any:
            total, handle = ops.all_reduce(x, async_op=True)
            handle.wait()
            return total * 2, ops.all_gather_into_tensor(None, x)[0]

    for got in both(Returned(), x):
        same(got[0], 2 * np.sum(everybody, 0))
        same(got[1], np.concatenate(everybody))
    communication.set_comm_ops_inplace(True)


def both(cell: nn.Cell, *inputs: Tensor) -> list[Any]:
    """What a Cell gives, compiled and op by op."""
    made = []
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        made.append(cell(*inputs))
    graphc.set_context(mode=graphc.GRAPH_MODE)
    return made


class InPlace(nn.Cell):
    """What is one node of a graph, with a gradient."""

    def construct(self, x: Tensor) -> Any:
        size = dist.get_world_size()
        total, mean, first, gathered, part = x * 1, x * 1, x * 1, ops.zeros((size * x.shape[0], 2)), x[:2] * 0
        moved = x * 0
        dist.all_reduce(total)
        dist.all_reduce(mean, "avg")
        dist.broadcast(first, 1, async_op=True).wait()
        dist.all_gather_into_tensor(gathered, x)
        dist.reduce_scatter_tensor(part, x)
        dist.all_to_all_single(moved, x)
        return total, mean, first, gathered, part, moved


def traced(rank: int, size: int) -> None:
    x = value(rank, (2 * size, 2))
    everybody = [value(r, (2 * size, 2)).asnumpy() for r in range(size)]
    mine = slice(2 * rank, 2 * rank + 2)
    for total, mean, first, gathered, part, moved in both(InPlace(), x):
        same(total, np.sum(everybody, 0))
        close(mean, np.mean(everybody, 0), "avg")
        same(first, everybody[1])
        same(gathered, np.concatenate(everybody))
        same(part, np.sum(everybody, 0)[mine])
        same(moved, np.concatenate([e[mine] for e in everybody]))

    def loss(x: Tensor) -> Tensor:
        y = x * 1
        dist.all_reduce(y)
        return ops.reduce_sum(y * y)

    # Of the sum of all processes' losses.
    np.testing.assert_allclose(ops.grad(loss)(x).asnumpy(), 2 * size * np.sum(everybody, 0), rtol=1e-6)

    class Listed(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            dist.all_gather([x * 1 for _ in range(dist.get_world_size())], x)
            return x

    with pytest.raises(graphc.TraceError, match=r"(?s)all_gather has no place in a compiled step.*use ops\.AllGather"):
        Listed()(x)


def disagreements(rank: int, size: int) -> None:
    """Calls that do not go together are errors in all processes, and the next call is as good as ever."""
    odd = rank == size - 1
    x, other = value(rank, (4,)), value(rank, (5,))
    cases: list[tuple[str, Callable[[], Any]]] = [
        (
            r"rank 0: all_reduce of f32\[4\], op='sum'.*: all_reduce of f32\[5\]",
            lambda: dist.all_reduce(other if odd else x),
        ),
        (r"f32\[4\].*i32\[4\]", lambda: dist.all_reduce(x.astype(graphc.int32) if odd else x)),
        (r"op='max'", lambda: dist.all_reduce(x, "max" if odd else "sum")),
        (r"broadcast", lambda: dist.broadcast(x, 0) if odd else dist.all_reduce(x)),
        (r"from rank 1", lambda: dist.broadcast(x, int(odd))),
        (r"barrier", lambda: dist.barrier() if odd else dist.all_gather_object([None] * size, 0)),
        (r"2 objects", lambda: dist.broadcast_object_list([0] * (1 + odd))),
        (
            r"sizes of all_to_all_single.*rank 0 sends",
            lambda: dist.all_to_all_single(ops.zeros(size), ops.zeros(size + 1), [1] * size, [2] + [1] * (size - 1)),
        ),
        (r"all_reduce", lambda: dist.all_reduce(other if odd else x, async_op=True).wait()),
        (r"primitive all_gather of f32\[4\]", lambda: ops.AllGather()(other if odd else x)),
        (r"primitive all_reduce of f32\[4\]", lambda: ops.AllReduce()(x.astype(graphc.int32) if odd else x)),
        (r"primitive", lambda: ops.AllReduce()(x) if odd else dist.all_reduce(x)),
    ]
    for pattern, call in cases:
        with pytest.raises(DisagreementError, match=rf"(?s)GC191.*{pattern}"):
            call()
    dist.all_reduce(other if odd else x, async_op=True)
    dist.all_reduce(value(rank, (1,)), async_op=True)
    with pytest.raises(
        DisagreementError, match=r"f32\[5\]"
    ):  # What nobody has waited for is told by the next that waits.
        dist.barrier()
    x = value(rank, (4,))
    dist.all_reduce(x)
    same(x, sum(value(r, (4,)).asnumpy() for r in range(size)))
    if rank < 2:
        dist.send(value(rank, (2, 3)), 1 - rank)
        with pytest.raises(DisagreementError, match=r"(?s)sends: f32\[2,3\].*receives: f32\[3,2\]"):
            dist.recv(ops.zeros((3, 2)), 1 - rank)
        dist.send(value(rank, (1 << 18,)), 1 - rank)
        with pytest.raises(DisagreementError):
            dist.recv(ops.zeros(7), 1 - rank)
        ops.Send(5, 1 - rank)(value(rank, (2,)))
        with pytest.raises(DisagreementError, match="has sent 8 bytes, expected 16"):
            ops.Receive(5, 1 - rank, [4], graphc.float32)()
        y = ops.zeros((2, 3))
        dist.send(value(rank, (2, 3)), 1 - rank)
        dist.recv(y, 1 - rank)
        same(y, value(1 - rank, (2, 3)).asnumpy())
    dist.barrier()


def recorded(rank: int, size: int) -> None:
    """What MindSpore gives the first of two processes: tests/data/ms_distributed.py."""
    if rank > 1:
        return
    file = Path(__file__).parents[1] / "data" / "ms_distributed.json"
    theirs = json.loads(file.read_text(encoding="utf-8"))
    pair, ours = dist.new_group([1, 0]), {}

    def given(rank: int, first: int = 0) -> Tensor:
        return Tensor(np.array([[3, -7, 2], [5, 1, -4]], np.float32) + 3 * rank + first).astype(dtype)

    def shown(x: Tensor) -> list[Any]:
        return [str(x.dtype), x.astype("float32").asnumpy().tolist()]

    for dtype in ("float32", "float16", "bfloat16", "int8", "int32", "int64"):
        for op in ("sum", "prod", "max", "min", "avg"):
            x = given(rank)
            ours[f"all_reduce {op} {dtype}"] = [dist.all_reduce(x, op, pair), shown(x)]
        x = given(rank)
        ours[f"broadcast {dtype}"] = [dist.broadcast(x, 1, pair), shown(x)]
        outs = [given(9), given(9)]
        ours[f"all_gather {dtype}"] = [dist.all_gather(outs, given(rank), pair), [shown(o) for o in outs]]
        ours[f"gather {dtype}"] = [dist.gather(given(rank), outs, 0, pair), [shown(o) for o in outs]]
        ours[f"scatter {dtype}"] = [dist.scatter(x, [given(rank, 10), given(rank, 20)], 1, pair), shown(x)]
    ours["groups"] = [
        dist.get_rank(pair),
        dist.get_world_size(pair),
        dist.get_process_group_ranks(pair),
        dist.get_group_rank(pair, 1),
        dist.get_global_rank(pair, 1),
        dist.get_rank("none of them"),
        dist.get_world_size("none of them"),
    ]
    assert rank == 1 or ours == theirs, [(k, v, theirs[k]) for k, v in ours.items() if v != theirs[k]]


def main() -> None:
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    tensors(rank, list(range(size)), None)
    for part in (recorded, uneven, memory, groups, objects, peers, switched, traced, extremes, messages, disagreements):
        part(rank, size)
    print(f"done {rank}", flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
