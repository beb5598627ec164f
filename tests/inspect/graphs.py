"""Graphs made by hand: a training step with an overflow check, and one whose every name is hostile."""

from __future__ import annotations

import numpy as np

import graphc.ops
from graphc.errors import Loc
from graphc.ir import Data, Graph, Origin, TensorType, Value, verify

HOSTILE = 'a"b\\c\nd</script><b>&amp;`#x]{}%7 ; @ e:1'


def step_graph() -> Graph:
    """loss -> ClearFloatStatus -> gradient -> GetFloatStatus -> If(not overflow) -> Depend, by hand."""
    f = TensorType("float32", (4, 3))
    at = Loc("model.py", 41)
    g = Graph("step")
    w = g.add("Param", types=(f,), attrs={"trainable": True}, name="fc.weight", region="state").id
    x = g.add("Input", types=(f,), name="x").id
    big = Data(np.arange(12, dtype=np.float32).reshape(4, 3), type=f)
    table = Data(np.arange(20, dtype=np.int64), type=TensorType("int64", (20,)))
    c = g.add("Constant", types=(f,), attrs={"value": big}).id
    unused = g.add("Constant", types=(table.type,), attrs={"value": table}, scope="network.table").id
    y = g.add("Mul", [Value(x), Value(w)], scope="network.fc", loc=at).id
    s = g.add("Add", [Value(y), Value(c)], scope="network.fc", loc=at).id
    loss = g.add("ReduceSum", [Value(s)], {"axis": (0, 1), "keep_dims": False}, name="loss", scope="network.loss").id
    clear = g.add("ClearFloatStatus", after=[loss], region="overflow").id
    held = g.add("Depend", [Value(x)], after=[clear], region="overflow").id
    by = Origin("autodiff", "Mul", (y,))
    dw = g.add("Mul", [Value(held), Value(c)], region="backward", fwd=y, origin=by, loc=at).id
    half = g.add("Mul", [Value(dw), Value(c)], region="overflow").id
    check = g.add("GetFloatStatus", [Value(clear), Value(half)], region="overflow").id
    good = g.add("LogicalNot", [Value(check)], region="overflow").id
    branches = {name: _branch(g, f, name) for name in ("then", "else")}
    update = g.add("If", [Value(good), Value(w), Value(half)], branches, region="optimizer").id
    out = g.add("Depend", [Value(loss)], after=[update], region="optimizer").id
    g.set_results([("loss", Value(out)), ("overflow", Value(check)), ("table", Value(unused))], [(w, Value(update))])
    verify(g)
    return g


def _branch(g: Graph, f: TensorType, name: str) -> Graph:
    sub = Graph(name, g.ids)
    w = sub.add("Input", types=(f,), name="w", region="state")
    dw = sub.add("Input", types=(f,), name="dw", region="state")
    value = w.outputs[0]
    if name == "then":
        value = sub.add("Sub", [w.outputs[0], dw.outputs[0]], scope="optimizer", region="optimizer").outputs[0]
    sub.set_results([("w", value)])
    return sub


def hostile_graph() -> Graph:
    """Every name that a user or a pass can choose is HOSTILE."""
    t = TensorType("float32", (2,))
    g = Graph(HOSTILE)
    x = g.add("Input", types=(t,), name=HOSTILE)
    y = g.add(
        "Relu" if "Relu" in graphc.ir.all_ops() else "ReLU",
        [x.outputs[0]],
        name=HOSTILE,
        scope=HOSTILE,
        loc=Loc(HOSTILE, 3),
        fwd=x.id,
        origin=Origin(HOSTILE, HOSTILE, (x.id,)),
        region="backward",
    )
    g.set_results([(HOSTILE, y.outputs[0])])
    return g
