"""The IR: graphs of frozen nodes over networkx, their text form, verifier and structural equality. Needs no numba."""

from graphc.ir.builder import Builder, Gradient, NodeView, inline
from graphc.ir.equiv import difference, equal
from graphc.ir.graph import REGIONS, Data, Graph, Ids, Node, Origin, Region, Replaced, Result, Update, Value
from graphc.ir.op import NO_GRAD, REQUIRED, OpDef, Sample, all_ops, get_op, op
from graphc.ir.order import walk
from graphc.ir.parse import parse
from graphc.ir.text import node_text, to_text
from graphc.ir.types import TensorType, dtype_name, numpy_dtype, parse_type
from graphc.ir.verify import verify

__all__ = [
    "NO_GRAD", "REGIONS", "REQUIRED", "Builder", "Data", "Gradient", "Graph", "Ids", "Node", "NodeView", "OpDef", "Origin",
    "Region", "Replaced", "Result", "Sample", "TensorType", "Update", "Value", "all_ops", "difference", "dtype_name", "equal",
    "get_op", "inline", "node_text", "numpy_dtype", "op", "parse", "parse_type", "to_text", "verify", "walk",
]  # fmt: skip
