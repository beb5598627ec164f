"""Requests for function transforms: Grad, of `state.py`, Jvp, forward mode, and Vmap. The autodiff pass replaces them."""

from __future__ import annotations

from graphc.errors import TransformError
from graphc.ir import REQUIRED, Graph, TensorType, op
from graphc.ir.op import Attrs, Types

#: The ops that the autodiff pass replaces.
REQUESTS = ("Grad", "Jvp", "Vmap")


def _jvp_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    count, wrt = attrs["ys"], attrs["wrt"]
    tangents, cut = types[count : count + len(wrt)], types[count + len(wrt) :]
    for tangent, i in zip(tangents, wrt, strict=True):
        if tangent != cut[i]:
            raise TransformError(f"a tangent is {tangent}, the input it belongs to is {cut[i]}")
    return tuple(types[:count])


op(
    "Jvp",
    "*operands",
    attrs={"ys": REQUIRED, "wrt": REQUIRED},
    infer=_jvp_infer,
    doc="tangents of the first `ys` operands, where the next operands, one for each number in wrt, are the tangents of the"
    " values wrt[i] of the rest (cut), and all other values of the cut stand still. The autodiff pass walks from the cut to"
    " the ys and replaces the node",
)


def mapped_type(type: TensorType, size: int) -> TensorType:
    """The type with a batch axis in front."""
    return TensorType(type.dtype, (size, *type.shape))


def _vmap_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    body: Graph = attrs["body"]
    size = attrs["size"]
    wanted = [
        mapped_type(body.node(i).type, size) if has else body.node(i).type
        for i, has in zip(body.inputs, attrs["mapped"], strict=True)
    ]
    if wanted != list(types):
        given = ", ".join(map(str, types))
        raise TransformError(f"Vmap: @{body.name} takes ({', '.join(map(str, wanted))}), given ({given})")
    made = [body.type(r.value) for r in body.results]
    return tuple(mapped_type(t, size) if has else t for t, has in zip(made, attrs["fronts"], strict=True))


op(
    "Vmap",
    "*operands",
    attrs={"body": REQUIRED, "size": REQUIRED, "mapped": REQUIRED, "fronts": REQUIRED},
    infer=_vmap_infer,
    doc="the results of subgraph `body` for each index of a batch axis of `size`, which the `mapped` operands have in front,"
    " and those results that `fronts` says. The autodiff pass replaces the node by the ops' batching rules",
)
