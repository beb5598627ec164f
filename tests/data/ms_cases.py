"""Cases of primitives as texts: what these may say, and how what MindSpore gives for them is recorded.

A case is a primitive or a function and, behind "|", its operands. Its record holds the results, and what MindSpore's own gradient
of them is for each operand of floats: null where it has none.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

#: Results that MindSpore leaves as the memory happens to be.
UNWRITTEN = {"MinimumGradGrad": (0, 1)}
#: Where MindSpore's gradient is zero and the true one is not, where there is none, and where it is of another shape.
NO_GRADIENT = ("as_strided", "AsStrided", "SliceExt", "view_dtype", "ClipByNorm() | i(0, 0)", "spared")


def lines(text: str) -> list[str]:
    """The cases of a text."""
    return text.strip().replace("\n    ", " ").split("\n")


class Names(dict[str, Any]):
    """What the texts may say: helpers, and primitives wherever they are."""

    def __init__(self, tensor: Callable[..., Any], places: list[Any]) -> None:
        super().__init__()
        self.places = places

        def made(k: float, shape: tuple[int, ...]) -> Any:
            return np.sin(1.7 * np.arange(np.prod(shape)) + 0.3 + k).reshape(shape).astype(np.float32)

        def moments(x: Any, axes: Any) -> tuple[Any, Any]:
            a = x.asnumpy()
            along = (0, 2, 3) if axes is None else axes
            return (tensor(f(a, along, keepdims=axes is not None)) for f in (np.mean, np.var))  # type: ignore[return-value]

        def maxima(x: Any, rows: Any, columns: Any, more: int) -> Any:
            a, pairs = x.asnumpy(), [list(itertools.pairwise(b)) for b in (rows, columns)]
            parts = [[a[:, r : s + more, c : d + more].max((1, 2)) for c, d in pairs[1]] for r, s in pairs[0]]
            return tensor(np.array(parts).transpose(2, 0, 1, 3))

        self.update(
            T=lambda values: tensor(np.array(values, np.float32)),
            f=lambda *shape: tensor(made(shape[0], shape)),
            g=lambda *shape: tensor(made(len(shape) + 3, shape)),
            p=lambda *shape: tensor(made(1, shape) ** 2 + np.float32(0.1)),
            i=lambda *values: tensor(np.array(values, np.int32)),
            l=lambda *values: tensor(np.array(values, np.int64)),
            scalar=lambda value: tensor(np.array(value, np.int32)),
            truth=lambda *shape: tensor(made(0, shape) > -0.3),
            ties=lambda *shape: tensor(np.round(made(0, shape))),
            tall=lambda *shape: tensor(made(5, shape) + 2 * np.eye(*shape, dtype=np.float32)),
            mean=lambda x, axes=None: next(iter(moments(x, axes))),
            var=lambda x, axes=None: list(moments(x, axes))[1],
            maxima=maxima,
            lstm=lambda attributes, x, h, c, w: (x, h, c, w, *self["LSTM"](*attributes, 0.0)(x, h, c, w)[:3]),
            spared=lambda attributes: lambda *operands: self["LSTM"](*attributes, 0.0)(*operands)[:3],
            spare=lambda attributes, *operands: self["LSTM"](*attributes, 0.0)(*operands)[3],
            inf=float("inf"),
        )

    def __missing__(self, name: str) -> Any:
        for place in self.places:
            if hasattr(place, name):
                return getattr(place, name)
        raise KeyError(name)


def parts(case: str, names: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The primitive of a case and its operands."""
    primitive, operands = case.split(" | ")
    return eval(primitive, {}, names), list(eval(f"({operands},)", {}, names))  # type: ignore[arg-type]


def results(made: Any) -> list[Any]:
    """The results as arrays."""
    return [x.asnumpy() for x in (made if isinstance(made, (tuple, list)) else (made,))]


def weighted(made: Any, tensor: Callable[..., Any]) -> Any:
    """A number that depends on all results of floats."""
    whole = 0
    for x in made if isinstance(made, (tuple, list)) else (made,):
        if "loat" in str(x.dtype):
            count = int(np.prod(x.shape))
            weights = np.cos(np.arange(count)).reshape(x.shape).astype(np.float32)
            whole = whole + (x.astype("float32") * tensor(weights)).sum()
    return whole


def floats(operands: list[Any]) -> tuple[int, ...]:
    """The places of the operands of floats."""
    return tuple(k for k, x in enumerate(operands) if "loat" in str(getattr(x, "dtype", "")))


def written(case: str, made: Any) -> list[Any]:
    """The results of a case that MindSpore writes."""
    left = UNWRITTEN.get(case.partition("(")[0], ())
    return [a for k, a in enumerate(results(made)) if k not in left]


def record(a: Any) -> dict[str, Any]:
    """An array as it is written."""
    return {"shape": list(a.shape), "dtype": str(a.dtype), "values": [float(f"{v:.6g}") for v in a.ravel().tolist()]}


def record_cases(cases: list[str], names: Names, path: str) -> None:
    """Write what MindSpore gives for cases to a file; those that it cannot run are left out, with a line on stderr."""
    import mindspore as ms

    found_of = {}
    for case in cases:
        primitive, operands = parts(case, names)
        try:
            found: dict[str, Any] = {"results": [record(a) for a in written(case, primitive(*operands))]}
        except Exception as error:
            print("FAILS", case, "::", " ".join(str(error).split())[:150], file=sys.stderr)
            continue
        places = () if case.startswith(NO_GRADIENT) else floats(operands)
        try:
            made = ms.grad(lambda *xs, p=primitive: weighted(p(*xs), ms.Tensor), places)(*operands)
            found["gradients"] = [record(a) for a in results(made)]
        except Exception as error:
            print(case, "::", " ".join(str(error).split())[:150], file=sys.stderr)
            found["gradients"] = None
        found_of[case] = found
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found_of.items()) + "\n}\n")
