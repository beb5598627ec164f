"""Every pass on every golden input: the same numbers, nothing left to do the second time; and what `run` promises.

The plugin compares the texts: see golden.toml.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphc.errors import GradientError, VerifyError
from graphc.ir import Graph, TensorType, Value, equal, parse
from graphc.passes import PIPELINE, REASSOCIATING, autodiff, cse, prune, run, same_meaning, simplify
from graphc.testing import golden

F = TensorType("float32", (2, 3))
FOLDER = Path(__file__).parent
FILES = golden.files(FOLDER)


def test_every_pass_has_several():
    counts = {p.__name__: len(list(FOLDER.glob(f"{p.__name__}/*.ir"))) for p in PIPELINE}
    assert min(counts.values()) >= 3, counts
    assert len(FILES) == sum(counts.values())


@pytest.mark.parametrize("file", FILES, ids=str)
@pytest.mark.parametrize("transform", PIPELINE, ids=lambda p: p.__name__)
def test_meaning(transform, file):
    """Any pass on any golden input leaves the interpreter's numbers; gradients have no numbers before autodiff."""
    graph = file.source()
    if any(n.op.name == "Grad" for n in graph):
        graph = autodiff(graph)
    result = transform(graph)
    same_meaning(graph, result, exact=transform.__name__ not in REASSOCIATING)
    assert equal(transform(result), result)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_passes_do_not_change_their_input(file):
    graph = file.source()
    before = str(graph)
    for transform in file.transforms():
        transform(graph)
    assert str(graph) == before


def graph_of(op, value=None):
    g = Graph("g")
    x = g.add("Input", types=(F,)).outputs[0]
    p = g.add("Param", types=(F,)).outputs[0]
    y = g.add(op, [x]).outputs[0]
    g.set_results([("y", y)], [(p.node, value or y)])
    return g


def test_the_check_of_meaning_can_fail():
    same_meaning(graph_of("Exp"), graph_of("Exp"))
    with pytest.raises(VerifyError, match="a pass changed what the graph computes"):
        same_meaning(graph_of("Exp"), graph_of("Tanh"))
    with pytest.raises(VerifyError, match="a pass changed the update of parameter %1"):
        same_meaning(graph_of("Exp"), graph_of("Exp", Value(0)))


def test_nothing_to_do_returns_the_graph_itself():
    g = graph_of("Exp")
    for transform in PIPELINE:
        assert transform(g) is g
    stages = run(g)
    assert [s.name for s in stages] == ["trace", *(p.__name__ for p in PIPELINE)]
    assert [s.changed for s in stages] == [True] + [False] * len(PIPELINE)
    assert all(s.graph.frozen for s in stages)


def test_a_pass_that_breaks_a_graph_is_named():
    def careless(graph):
        made = graph.copy()
        made.set_results([("y", Value(99))])
        return made

    with pytest.raises(VerifyError, match=r"pass careless made an invalid graph: graph @g is not valid: 1 problem"):
        run(graph_of("Exp"), [careless])


def test_an_error_inside_a_pass_says_which():
    g = graph_of("Exp")
    image = g.add("Input", types=(TensorType("float32", (1, 1, 4, 4)),)).outputs[0]
    called = g.add("HostCall", [image], {"function": np.square}).outputs[0]
    sens = g.add("Fill", attrs={"dtype": "float32", "shape": (1, 1, 4, 4), "value": 1.0}).outputs[0]
    grad = g.add("Grad", [called, sens, image], {"ys": 1, "wrt": (0,)})
    g.set_results([("g", grad.outputs[0])])
    with pytest.raises(GradientError, match="HostCall has no gradient") as caught:
        run(g)
    assert caught.value.__notes__ == ["in pass autodiff, after trace, fuse_attention, fuse_cross_entropy, roll_loops"]
    assert caught.value.nodes == (called.node,)


def test_folding_stops_at_large_results():
    text = """\
graph @fold {
  forward:
    %0: f32[1] = Constant() {value=<f32[1] 2.0>}
    %1: f32[300] = BroadcastTo(%0) {shape=(300,)}
    %2: f32[1] = Exp(%0)
  return a=%1, b=%2
}"""
    folded = simplify(parse(text))
    assert [n.op.name for n in folded] == ["Constant", "BroadcastTo", "Constant"]


def test_constants_known_by_their_hash_only_are_not_folded():
    text = """\
graph @fold {
  forward:
    %0: f32[20] = Constant() {value=<f32[20] #0123456789abcdef>}
    %1: f32[20] = Exp(%0)
  return a=%1
}"""
    graph = parse(text)
    assert simplify(graph) is graph


def test_merging_is_complete_and_deterministic():
    g = Graph("same")
    x = g.add("Input", types=(F,)).outputs[0]
    layers = [x] * 8
    for op in ("Exp", "Neg", "Tanh"):
        layers = [g.add(op, [v]).outputs[0] for v in layers]
    g.set_results((str(i), v) for i, v in enumerate(layers))
    merged = prune(cse(g))
    assert len(merged) == 4
    assert {r.value for r in merged.results} == {layers_first(merged)}


def layers_first(graph):
    return graph.node(graph.order()[-1]).outputs[0]
