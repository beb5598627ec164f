"""Rules of triangular systems. ONNX has nothing of the kind: a few nodes for each row."""

from __future__ import annotations

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer

#: The dtypes whose operators onnxruntime has.
_NATIVE = ("float32", "float64")


def _turned(w: Writer, x: str, rank: int) -> str:
    """The last two axes exchanged."""
    return w("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


def _part(w: Writer, x: str, axis: int, begin: int, end: int) -> str:
    return w("Slice", x, w.ints(begin), w.ints(end), w.ints(axis))


@rule("SolveTriangular")
def _solve(w: Writer, n: View, a: str, b: str) -> str:
    """By substitution, row by row."""
    type = n.types[1]
    if not type.size:
        return w("Identity", b)
    narrow = n.dtype not in _NATIVE
    if narrow:
        a, b = (w.cast(x, "float32") for x in (a, b))
    if n["transposed"]:
        a = _turned(w, a, type.rank)
    down, across, size = type.rank - 2, type.rank - 1, type.shape[-2]
    forward, done = n["lower"] != n["transposed"], ""
    for r in range(size) if forward else reversed(range(size)):
        line, row = _part(w, a, down, r, r + 1), _part(w, b, down, r, r + 1)
        if done:
            before = _part(w, line, across, *((0, r) if forward else (r + 1, size)))
            row = w("Sub", row, w("MatMul", before, done))
        if not n["unit"]:
            row = w("Div", row, _part(w, line, across, r, r + 1))
        done = row if not done else w("Concat", *((done, row) if forward else (row, done)), axis=down)
    return w.cast(done, n.dtype) if narrow else done
