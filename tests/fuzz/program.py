"""Random programs: what they are, how a seed makes one, what NumPy says they compute, and the Cell that computes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphc import Parameter, Tensor, nn, ops
from tests.fuzz.kinds import KINDS, Array, is_float

SIZES = (1, 2, 3, 5, 7, 16, 17, 33)
#: Ways to take a parameter that must give its value as it is at that moment.
VIEWS: dict[str, Any] = {
    "itself": lambda p: p * 1,
    "cast": lambda p: ops.cast(p, p.dtype),
    "reshape": lambda p: ops.reshape(p, p.shape),
    "transpose": lambda p: ops.transpose(ops.transpose(p, _reversed(p)), _reversed(p)),
    "broadcast": lambda p: ops.broadcast_to(p, p.shape),
}


def _reversed(p: Any) -> tuple[int, ...]:
    return tuple(range(p.ndim))[::-1]


@dataclass(frozen=True)
class Step:
    """`kind` of `KINDS`, or "read" and "assign", which are about the parameter; operands are numbers of earlier values."""

    kind: str
    operands: tuple[int, ...]
    attrs: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """Inputs, a parameter if there is one, and steps. Values are numbered: inputs first, then a step each."""

    inputs: tuple[Array, ...]
    parameter: Array | None
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [f"v{i} = {x.dtype}{list(x.shape)}" for i, x in enumerate(self.inputs)]
        if self.parameter is not None:
            lines.append(f"p = {self.parameter.dtype}{list(self.parameter.shape)}")
        for i, s in enumerate(self.steps, len(self.inputs)):
            given = [*(f"v{o}" for o in s.operands), *(f"{k}={v}" for k, v in s.attrs.items())]
            lines.append(f"v{i} = {s.kind}({', '.join(given)})")
        return "\n".join(lines)

    @property
    def is_smooth(self) -> bool:
        return all(KINDS[s.kind].smooth for s in self.steps if s.kind in KINDS)

    def evaluate(self, inputs: Any = None, *, exact: bool = True) -> tuple[list[Array], Array | None]:
        """(every value, the parameter at the end) by NumPy; `exact` computes floats in float64."""
        made = [_wide(x) if exact else x for x in (self.inputs if inputs is None else inputs)]
        p = self.parameter if self.parameter is None or not exact else _wide(self.parameter)
        with np.errstate(all="ignore"):
            for s in self.steps:
                args = [made[o] for o in s.operands]
                if s.kind == "read":
                    assert p is not None
                    made.append(p)
                elif s.kind == "assign":
                    p = args[0]
                    made.append(p)
                else:
                    result = np.asarray(KINDS[s.kind].numpy(*args, **s.attrs))
                    made.append(_wide(result) if exact else result)
        return made, p

    def leaves(self) -> list[int]:
        """The values that no step takes: the results."""
        taken = {o for s in self.steps for o in s.operands}
        return [i for i in range(len(self.inputs) + len(self.steps)) if i not in taken]


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if is_float(x) else x


# ---- making one


def generate(seed: int, steps: int = 8) -> Program:
    """The program of a seed: at most so many steps, whose values stay finite and moderate."""
    rng = np.random.default_rng(seed)
    inputs = tuple(_input(rng) for _ in range(int(rng.integers(1, 4))))
    parameter = rng.standard_normal(inputs[0].shape).astype(np.float32) if rng.integers(4) == 0 else None
    program = Program(inputs, parameter, ())
    for _ in range(int(rng.integers(1, steps + 1))):
        for _ in range(30):
            longer = _with_a_step(rng, program)
            if longer is not None:
                program = longer
                break
    return program


def _input(rng: np.random.Generator) -> Array:
    rank = int(rng.choice((0, 1, 2, 2, 3, 4, 4)))
    shape = tuple(int(rng.choice(SIZES[: 5 if rank > 2 else None])) for _ in range(rank))
    if rank and rng.integers(25) == 0:
        shape = (*shape[:-1], 0)
    dtype = str(rng.choice(("float32", "float32", "float32", "float16", "int32", "int64", "bool")))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int"):
        return rng.integers(-9, 10, shape).astype(dtype)
    return np.asarray(rng.standard_normal(shape)).astype(dtype)


def _with_a_step(rng: np.random.Generator, program: Program) -> Program | None:
    values, p = program.evaluate(exact=False)
    if p is not None and rng.integers(4) == 0:
        fits = [i for i, v in enumerate(values) if v.shape == p.shape and v.dtype == p.dtype]
        if fits and rng.integers(2):
            step = Step("assign", (int(rng.choice(fits)),), {})
        else:
            step = Step("read", (), {"view": str(rng.choice(list(VIEWS)))})
        return replace(program, steps=(*program.steps, step))
    kind = KINDS[str(rng.choice(list(KINDS)))]
    operands = tuple(int(i) for i in rng.integers(0, len(values), kind.count))
    args = [values[i] for i in operands]
    if kind.count > 1 and kind.name not in ("concat", "matmul") and not _broadcasts(args):
        return None
    attrs = kind.choose(rng, args)
    if attrs is None:
        return None
    longer = replace(program, steps=(*program.steps, Step(kind.name, operands, attrs)))
    made = longer.evaluate()[0][-1]
    if made.size > 20_000 or made.ndim > 5:
        return None
    if is_float(made) and made.size and not (np.isfinite(made).all() and np.abs(made).max() < 200):
        return None
    return longer


def _broadcasts(args: list[Array]) -> bool:
    try:
        np.broadcast_shapes(*(a.shape for a in args))
    except ValueError:
        return False
    return True


def shorter(program: Program) -> Iterator[Program]:
    """Programs with one step or one part of an input less, for finding the smallest that fails."""
    count = len(program.inputs)
    taken = {o for s in program.steps for o in s.operands}
    for i in reversed(range(len(program.steps))):
        if count + i not in taken:
            at = count + i
            kept = [
                replace(s, operands=tuple(o - (o > at) for o in s.operands))
                for j, s in enumerate(program.steps)
                if j != i
            ]
            yield replace(program, steps=tuple(kept))
    for i in range(count):
        if i not in taken and count > 1:
            kept = [replace(s, operands=tuple(o - (o > i) for o in s.operands)) for s in program.steps]
            yield Program((*program.inputs[:i], *program.inputs[i + 1 :]), program.parameter, tuple(kept))


# ---- as a Cell


class Net(nn.Cell):
    """The program's results. `traced` tensors in, tensors out."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.steps, self.results = program.steps, program.leaves()
        self.p = None if program.parameter is None else Parameter(Tensor(program.parameter), name="p")

    def construct(self, *inputs: Any) -> Any:
        values = list(inputs)
        for s in self.steps:
            args = [values[o] for o in s.operands]
            if s.kind == "read":
                values.append(VIEWS[s.attrs["view"]](self.p))
            elif s.kind == "assign":
                values.append(ops.assign(self.p, args[0]) * 1)
            else:
                values.append(KINDS[s.kind].graphc(*args, **s.attrs))
        return tuple(values[i] for i in self.results)


class Total(nn.Cell):
    """A weighted sum of the float results: what gradients are taken of."""

    def __init__(self, net: Net, weights: dict[int, Array]) -> None:
        super().__init__(auto_prefix=False)
        self.net = net
        self.weights = {i: Tensor(w) for i, w in weights.items()}

    def construct(self, *inputs: Any) -> Any:
        total = Tensor(np.float32(0))
        for i, made in enumerate(self.net(*inputs)):
            if i in self.weights:
                total = total + ops.reduce_sum(ops.cast(made, "float32") * self.weights[i])
        return total


class WithGradients(nn.Cell):
    """(results, gradients of the total for all inputs)."""

    def __init__(self, net: Net, weights: dict[int, Array]) -> None:
        super().__init__(auto_prefix=False)
        self.net, self.total = net, Total(net, weights)
        self.grad = ops.GradOperation(get_all=True)

    def construct(self, *inputs: Any) -> Any:
        return self.net(*inputs), self.grad(self.total)(*inputs)
