"""The op that looks whether indices are in range, and the errors of indices."""

from __future__ import annotations

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, Loc, ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, Graph, Sample, TensorType, Value, op, walk
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle
from graphc.ir.op import Attrs, ByAttributes, Kernel, Operands, Scalar, Types
from graphc.ops.declared.batching import Mapped
from graphc.ops.declared.indexing import INDEX_DTYPES
from graphc.ops.declared.padding import Axes, Padded, is_padded, loosened, looseness
from graphc.ops.declared.rules import Array, check_dtype, integers


class IndexRangeError(ArgumentValueError, IndexError, shown_as="IndexError"):
    """An index that an axis does not have. An IndexError, which also ends Python's own iteration."""


class IndexKindError(ArgumentTypeError, IndexError, shown_as="IndexError"):
    """Something that is no index."""


def first_outside(indices: Array, size: int, negative: bool, ignored: int | None) -> int | None:
    """The first index that is not in range; None where all are."""
    bad = (indices < (-size if negative else 0)) | (indices >= size)
    if ignored is not None:
        bad &= indices != ignored
    return int(indices[bad].flat[0]) if bad.any() else None


def moved(indices: Array, size: int, negative: bool, ignored: int | None) -> Array:
    """The indices, with `negative` those below 0 plus the size, but what is `ignored`."""
    if not negative:
        return indices
    below = indices < 0 if ignored is None else (indices < 0) & (indices != ignored)
    return np.where(below, indices + size, indices).astype(indices.dtype)


def out_of_range(says: str, index: int, size: int, loc: Loc | None = None) -> IndexRangeError:
    """The error for an index that an axis of this size does not have; `says` is the node's attribute."""
    return IndexRangeError(says.format(index=index, size=size), loc=loc)


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    indices, *sizes = types
    check_dtype("InBounds", "indices", indices, INDEX_DTYPES)
    if sizes != [TensorType(indices.dtype, ())] * (attrs["size"] is None):
        found = ", ".join(map(str, sizes)) or "none"
        raise ShapeError(
            f"InBounds: the size is attribute {attrs['size']}, operand {found}: one of both, as the indices"
        )
    return (indices,)


def _ref(
    indices: Array, *sizes: Array, size: int | None, negative: bool, ignored: int | None, checked: bool, says: str
) -> Array:
    end = int(sizes[0]) if size is None else size
    bad = first_outside(indices, end, negative, ignored) if checked else None
    if bad is not None:
        raise IndexError(says.format(index=bad, size=end))  # A NumPy file that is written has no other class.
    return moved(indices, end, negative, ignored)


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    type, size = inputs[0].type, attrs["size"]
    if type.size:
        end = inputs[1] if size is None else k.table(np.array(size, type.numpy))
        own = {name: attrs[name] for name in ("negative", "ignored")}
        k.call("in_bounds", (inputs[0], end), outputs, count=type.size, dtype=type.dtype, **own)


_CHECKED = Kernel(_lower, INDEX_DTYPES)


def _scalar(
    e: ExpressionBuilder,
    index: Handle,
    *sizes: Handle,
    size: int | None,
    negative: bool,
    ignored: int | None,
    checked: bool,
    says: str,
) -> Handle:
    """The index where nothing is checked."""
    if not negative:
        return index
    end = sizes[0] if size is None else e.number(size, e.dtype(index))
    place = e.select(e.lt(index, e.number(0, e.dtype(index))), e.add(index, end), index)
    return place if ignored is None else e.select(e.eq(index, e.number(ignored, e.dtype(index))), index, place)


def unchecked(source: Graph) -> Graph:
    """A graph whose indices may lie anywhere, for what is computed and then not used: a copy, or itself if it looks at none."""
    if not any(node.op.name == "InBounds" for _, node in walk(source)):
        return source
    made = source.copy()
    leave_unchecked(made)
    return made.freeze()


def leave_unchecked(graph: Graph) -> None:
    """Let the indices of a graph lie anywhere."""
    for node in list(graph):
        if node.op.name == "InBounds":
            graph.set_node(node.id, attrs={**node.attrs, "checked": False})
        elif parts := dict(node.graphs()):
            inside = {name: unchecked(part) for name, part in parts.items()}
            graph.set_node(node.id, attrs={**node.attrs, **inside})


def _batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    """Where each index of the batch has a size of its own nothing is looked for."""
    if m.mapped in ((True,), (True, False)):
        return m.again(*m.inputs)
    indices = m.front(0)
    if not m.negative:
        return (indices,)
    sizes = g.Reshape(m.inputs[1], shape=(m.size, *(1,) * m.types[0].rank))
    places = g.Select(g.Less(indices, g.like(0, indices)), g.Add(indices, sizes), indices)
    if m.ignored is None:
        return (places,)
    return (g.Select(g.Equal(indices, g.like(m.ignored, indices)), indices, places),)


def _pad(p: Padded) -> list[Axes]:
    """Padding that may hold anything becomes zeros, which are in range."""
    axes = p.axes[0]
    loose = [k for k, a in enumerate(axes) if is_padded(a) and looseness(a)]
    if loose:
        p.mask(0, loose, 0)
    return [tuple(loosened(a, 1) if k in loose else a for k, a in enumerate(axes))]


def _samples() -> list[Sample]:
    says = {"says": "index {index} of {size}"}
    given = says | {"size": 5}
    return [
        Sample((integers(7, low=-5, high=4),), given),
        Sample((integers(3, 20, low=0, high=4), np.array(5, np.int32)), says | {"negative": False}),
        Sample((integers(33, low=0, high=4, dtype="int64"), np.array(5, np.int64)), says | {"ignored": -100}),
        Sample((integers(low=-5, high=-1),), given),
        Sample((integers(6, low=-9, high=9),), given | {"checked": False}),
    ]


op(
    "InBounds",
    "indices *size",
    attrs={"size": None, "negative": True, "ignored": None, "checked": True, "says": REQUIRED},
    infer=_infer,
    ref=_ref,
    grad=NO_GRAD,
    lower=ByAttributes(lambda attrs: _CHECKED if attrs["checked"] else Scalar(_scalar), _CHECKED),
    batch=_batch,
    pad=_pad,
    samples=_samples,
    doc="the indices, with `negative` those below 0 plus the size, which is an attribute or an operand; where one is not in"
    " [0, size) then, and is not `ignored`, the step ends there with an IndexError that says `says`",
)
