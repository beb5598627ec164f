"""Rules of triangular systems and Cholesky's factor. ONNX has nothing of the kind: a few nodes for each row."""

from __future__ import annotations

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType

#: The dtypes whose operators onnxruntime has.
NATIVE = ("float32", "float64")


@rule("SolveTriangular")
def _solve(w: Writer, n: View, a: str, b: str) -> str:
    if not n.type.size:
        return w("Identity", b)
    narrow = n.dtype not in NATIVE
    if narrow:
        a, b = (w.cast(x, "float32") for x in (a, b))
    made = substituted(w, n.type, a, b, n["lower"], n["transposed"], n["unit"])
    return w.cast(made, n.dtype) if narrow else made


def substituted(w: Writer, type: TensorType, a: str, b: str, lower: bool, transposed: bool, unit: bool) -> str:
    """A triangular system solved by substitution, row by row; `type` is that of b."""
    if transposed:
        a = w.swapped(a, type.rank)
    down, across, size = type.rank - 2, type.rank - 1, type.shape[-2]
    forward, done = lower != transposed, ""
    for r in range(size) if forward else reversed(range(size)):
        line, row = w.part(a, down, r, r + 1), w.part(b, down, r, r + 1)
        if done:
            before = w.part(line, across, *((0, r) if forward else (r + 1, size)))
            row = w("Sub", row, w("MatMul", before, done))
        if not unit:
            row = w("Div", row, w.part(line, across, r, r + 1))
        done = row if not done else w("Concat", *((done, row) if forward else (row, done)), axis=down)
    return done


@rule("Cholesky")
def _cholesky(w: Writer, n: View, x: str) -> str:
    """Column by column, of what is left of the lower triangle."""
    type, narrow = n.types[0], n.dtype not in NATIVE
    if not type.size:
        return w("Identity", x)
    x = w.cast(x, "float32") if narrow else x
    dtype = "float32" if narrow else n.dtype
    down, across, size = type.rank - 2, type.rank - 1, type.shape[-1]
    columns = []
    for k in range(size):
        first = w.part(x, across, 0, 1)
        column = w("Div", first, w("Sqrt", w.part(first, down, 0, 1)))
        above = w.filled(0, TensorType(dtype, (*type.shape[:-2], k, 1)))
        columns.append(w("Concat", above, column, axis=down) if k else column)
        if k + 1 < size:
            tail = w.part(column, down, 1, size - k)
            rest = w.part(w.part(x, down, 1, size - k), across, 1, size - k)
            x = w("Sub", rest, w("MatMul", tail, w.swapped(tail, type.rank)))
    made = w("Concat", *columns, axis=across)
    made = w.swapped(made, type.rank) if n["upper"] else made
    return w.cast(made, n.dtype) if narrow else made
