"""The text form: what is printed is read back, whatever the names, attributes, constants and order edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc.errors import GraphcError, ParseError
from graphc.ir import Data, Graph, TensorType, Value, difference, equal, parse, to_text, verify
from tests.ir.hostile import constants, graphs

F = TensorType("float32", (2, 3))


def small() -> Graph:
    """x * w, a condition, and an If that exchanges two values."""
    g = Graph("step")
    w = g.add("Param", types=(F,), name="w", region="state").outputs[0]
    x = g.add("Input", types=(F,), name="x").outputs[0]
    y = g.add("Mul", [x, w], scope="network.fc").outputs[0]
    flag = g.add("ReduceAny", [g.add("Greater", [y, x]).outputs[0]], {"axis": (0, 1)}, after=[y.node]).outputs[0]
    branches = {}
    for name in ("then", "else"):
        sub = Graph(name, g.ids)
        a, b = (sub.add("Input", types=(F,), name=n, region="state").outputs[0] for n in ("w", "y"))
        sub.set_results([("0", b), ("1", a)] if name == "then" else [("0", a), ("1", b)])
        branches[name] = sub
    made = g.add("If", [flag, w, y], branches, region="optimizer")
    g.set_results([("loss", y), ("old", made.outputs[1])], [(w.node, made.outputs[0])])
    verify(g)
    return g


def test_the_text_of_a_small_graph():
    assert (
        str(small())
        == """\
graph @step {
  state:
    %0 w: f32[2,3] = Param()
  forward:
    %1 x: f32[2,3] = Input()
    %2: f32[2,3] = Mul(%1, %0)  ; network.fc
    %3: b1[2,3] = Greater(%2, %1)
    %4: b1[] = ReduceAny(%3) {axis=(0, 1)} after(%2)
  optimizer:
    %9: (f32[2,3], f32[2,3]) = If(%4, %0, %2) {then=graph, else=graph}
      then = graph @then {
        takes %5 w: f32[2,3], %6 y: f32[2,3]
        return 0=%6, 1=%5
      }
      else = graph @else {
        takes %7 w: f32[2,3], %8 y: f32[2,3]
        return 0=%7, 1=%8
      }
  return loss=%2, old=%9#1
  update %0 = %9  ; w
}""".replace("return 0=%6, 1=%5", 'return "0"=%6, "1"=%5').replace("return 0=%7, 1=%8", 'return "0"=%7, "1"=%8')
    )


@settings(max_examples=120, deadline=None)
@given(graphs())
def test_text_comes_back(graph):
    text = to_text(graph)
    again = parse(text, constants(graph))
    assert to_text(again) == text
    assert difference(graph, again) is None
    for node in graph:
        twin = again.node(node.id)
        fields = ("inputs", "after", "types", "name", "scope", "loc", "region", "fwd", "origin")
        assert [getattr(node, f) for f in fields] == [getattr(twin, f) for f in fields]
    assert again.inputs == graph.inputs
    assert again.results == graph.results
    assert again.updates == graph.updates


@settings(max_examples=100, deadline=None)
@given(graphs(), st.data())
def test_damaged_text_gives_a_graph_or_a_parse_error(graph, data):
    text = to_text(graph)
    at = data.draw(st.integers(0, len(text)))
    inserted = data.draw(
        st.one_of(
            st.text(max_size=3), st.sampled_from(['"', "\\", "{", "}", "(", "[", "#9", "%0", "\n", "=", "<", " "])
        )
    )
    length = data.draw(st.sampled_from((0, 0, 1, 2, 20, len(text))))
    damaged = text[:at] + inserted + text[at + length :]
    try:
        made = parse(damaged)
    except ParseError as error:
        made = error
    assert str(made).startswith(("graph @", "[GC162] line "))


def test_every_line_removed_gives_a_graph_or_a_parse_error():
    lines = str(small()).split("\n")
    told = []
    for k in range(len(lines)):
        try:
            parse("\n".join(lines[:k] + lines[k + 1 :]))
        except ParseError as error:
            told.append(int(error.message.split()[1]))
    assert len(told) >= 10
    assert all(0 <= number <= len(lines) for number in told)


def test_every_truncation_is_refused():
    text = str(small())
    for k in range(len(text)):
        with pytest.raises(ParseError):
            parse(text[:k])


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("Mul(%1, %0)", "Mull(%1, %0)", 6, "there is no op named 'Mull'"),
        ("Mul(%1, %0)", "Mul(%1)", 6, "Mul takes 2 operands (x, y), got 1"),
        ("Mul(%1, %0)", "Mul(%1, %7)", 6, "%7 is not defined above"),
        ("Mul(%1, %0)", "Mul(%1, %0#1)", 6, "%0#1 is not defined above"),
        ("%2: f32[2,3] = Mul", "%2: f32[3,2] = Mul", 6, "Mul gives f32[2,3], the text says f32[3,2]"),
        ("%2: f32[2,3] = Mul", "%1: f32[2,3] = Mul", 6, "node id %1 is used twice in graph @step"),
        ("%2: f32[2,3] = Mul", "%2: f32[2,x] = Mul", 6, "'f32[2,x]' is no type, expected for example f32[32,10]"),
        ("{axis=(0, 1)}", "{axis=(0, 5)}", 8, "ReduceAny: axis 5 is out of range for a tensor of rank 2"),
        ("{axis=(0, 1)}", '{axis="a"}', 8, "ReduceAny: axis must be integers, got str"),
        ("{axis=(0, 1)}", "{axis=(0 1}", 8, "these attributes do not parse"),
        ("{axis=(0, 1)}", "{axes=(0, 1)}", 8, "ReduceAny has no attribute 'axes'"),
        (" after(%2)", " after(%77)", 8, "uses %77, which is not in graph @step"),
        ("  ; network.fc", "  ; network.fc @@", 6, "what follows `;` does not parse"),
        ("return loss=%2,", "return loss=2,", 19, "expected name=%id pairs"),
        ("old=%9#1", "old=%9#2", 21, "%9#2 is not a value of this graph"),
        ("update %0", "update %2", 20, "%2 is not a parameter of this graph"),
        ("then = graph", "them = graph", 11, "expected the subgraph `then = graph @...`"),
        ("takes %5 w: f32", "takes %5 w; f32", 12, "expected `takes %id name: type, ...`"),
        ("  forward:", "  forwards:", 4, "expected a node, a region or `return`"),
        ("graph @step {", "graph step {", 1, "expected `graph @name {`"),
    ],
)
def test_parse_errors_give_the_line(old, new, line, message):
    text = str(small())
    assert old in text
    with pytest.raises(ParseError) as caught:
        parse(text.replace(old, new, 1))
    head, _, said = caught.value.message.partition(": ")
    assert message in said
    assert head == f"line {line} of the graph's text"


def test_text_after_the_end_is_refused_with_its_line():
    text = str(small())
    with pytest.raises(ParseError, match=rf"line {text.count(chr(10)) + 3} .*after the end"):
        parse(text + "\n\nmore")


def test_an_empty_text_is_refused():
    with pytest.raises(ParseError, match="ends inside a graph"):
        parse("")


@pytest.mark.parametrize(
    "values", [[math.nan, math.inf, -math.inf], [-0.0, 0.0, 1e-45], [0.1, 1 / 3, 16777217.0], [3.4e38, -1e-38, 1.0]]
)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_constants_keep_every_bit(values, dtype):
    type = TensorType(dtype, (3,))
    with np.errstate(over="ignore"):
        array = np.array(values).astype(dtype)
    g = Graph("c")
    node = g.add("Constant", attrs={"value": Data(array, type=type)}, types=(type,))
    g.set_results([("c", node.outputs[0])])
    (again,) = parse(str(g))
    assert again.attrs["value"].array.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_nans_keep_their_signs_and_payloads(dtype):
    type = TensorType(dtype, (4,))
    size = type.numpy.itemsize
    array = np.frombuffer(
        b"".join([b"\xff" * size, b"\x7f" * size, b"\x01" * (size - 1) + b"\xff"]) + bytes(size), type.numpy
    )
    g = Graph("c")
    g.set_results([("c", g.add("Constant", attrs={"value": Data(array, type=type)}, types=(type,)).outputs[0])])
    assert parse(str(g)).node(0).attrs["value"].array.tobytes() == array.tobytes()
    assert equal(parse(str(g)), g)


def test_large_constants_print_as_their_hash():
    type = TensorType("float32", (17,))
    array = np.arange(17, dtype=np.float32)
    g = Graph("c")
    g.set_results([("c", g.add("Constant", attrs={"value": Data(array, type=type)}, types=(type,)).outputs[0])])
    digest = Data(array, type=type).digest
    assert f"<f32[17] #{digest}>" in str(g)
    without, with_data = parse(str(g)), parse(str(g), {digest: array})
    assert without.node(0).attrs["value"].array is None
    assert with_data.node(0).attrs["value"].array.tolist() == array.tolist()
    assert equal(without, with_data)
    array2 = array.copy()
    array2[3] = -0.0
    assert Data(array2, type=type).digest != digest


def test_numpy_numbers_and_lists_among_attributes_become_pythons():
    g = Graph("fill")
    attrs = {"dtype": "float32", "shape": [np.int64(2), 3], "value": np.float64(1.5)}
    node = g.add("Fill", attrs=attrs)
    g.set_results([("y", node.outputs[0])])
    assert node.attrs["shape"] == (2, 3)
    assert '{dtype="float32", shape=(2, 3), value=1.5}' in str(g)
    assert str(parse(str(g))) == str(g)


def test_what_an_attribute_cannot_be():
    g = Graph("fill")
    g.add("Fill", attrs={"dtype": "float32", "shape": (), "value": {1}})
    with pytest.raises(TypeError, match="an attribute cannot be a set"):
        str(g)


def test_a_subgraph_prints_alone():
    graph = small()
    sub = graph.node(9).attrs["then"]
    assert str(sub).startswith("graph @then {\n  state:\n    %5 w: f32[2,3] = Input()\n")
    assert equal(parse(str(sub)), sub)


# ---- structural equality can fail


#: name -> (replacements in the text of `small`, what the difference is)
VARIANTS = {
    "results": ((("loss=%2, old=%9#1", "loss=%2"),), "results"),
    "slot": ((("old=%9#1", "old=%9"),), "different results of their nodes"),
    "update": ((("  update %0 = %9  ; w\n", ""),), "updates inputs"),
    "operands exchanged": ((("Mul(%1, %0)", "Mul(%0, %1)"),), "%0 Param and %1 Input: the ops differ"),
    "op": ((("Mul(", "Add("),), "the ops differ"),
    "order": (((" after(%2)", ""),), "the operands differ"),
    "attribute": ((("ReduceAny(%3) {axis=(0, 1)}", "ReduceAny(%3) {axis=(0,)}"), ("%4: b1[]", "%4: b1[3]"),
                   ("If(%4,", "If(%10,"), ("  optimizer:", "    %10: b1[] = ReduceAny(%4) {axis=(0,)}\n  optimizer:")),
                  "%4 ReduceAny and %10 ReduceAny"),
    "branch": ((('return "0"=%6, "1"=%5', 'return "0"=%5, "1"=%6'),), "attribute then differs"),
    "copy": ((("Greater(%2, %1)", "Greater(%10, %1)"), ("    %3: b1", "    %10: f32[2,3] = Mul(%1, %0)\n    %3: b1")),
             "corresponds to both"),
}  # fmt: skip


@pytest.mark.parametrize("name", VARIANTS)
def test_difference_says_what_differs(name):
    replacements, words = VARIANTS[name]
    text = str(small())
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new, 1)
    other = parse(text)
    assert words in difference(small(), other)
    assert difference(other, small()) is not None
    assert not equal(small(), other)


@pytest.mark.parametrize(
    ("a", "b"), [(0.0, -0.0), (1, 1.0), (1, True), (math.nan, 0.0), ((1, 0.0), (1, -0.0)), ((1,), (True,))]
)
def test_attributes_that_python_takes_for_equal_differ(a, b):
    def graph(value):
        g = Graph("g")
        g.set_results([("y", g.add("AnyForTests", (), {"a": value, "types": (F,)}).outputs[0])])
        return g

    assert difference(graph(a), graph(b)) == "%0 AnyForTests and %0 AnyForTests: attribute a differs"
    assert equal(graph(a), graph(a))
    assert equal(graph((math.nan, a)), graph((math.nan, a)))


def test_an_update_of_another_parameter_is_a_difference():
    def graph(which):
        g = Graph("g")
        p = [g.add("Param", types=(F,), name=n).id for n in "pq"]
        x = g.add("Input", types=(F,)).outputs[0]
        g.set_results([], [(p[which], x)])
        return g

    assert difference(graph(0), graph(1)) == "@g updates inputs [0], @g [1]"
    assert equal(graph(0), graph(0))


def test_names_ids_and_lines_do_not_matter():
    text = str(small())
    renamed = text.replace(" w:", " v:").replace("; w", "; v").replace("network.fc", "other @ m.py:3")
    assert renamed != text
    assert equal(parse(renamed), small())
    moved = Graph("moved")
    moved.add("Input", types=(F,), id=40)
    moved.set_results([("y", Value(40))])
    other = Graph("other")
    other.add("Input", types=(F,), id=7)
    other.set_results([("z", Value(7))])
    assert equal(moved, other)


def test_a_program_of_the_public_face_prints_and_parses():
    import graphc
    from graphc import nn

    class Net(nn.Cell):
        def construct(self, x):
            return x * 2.0

    step = graphc.compile(Net(), np.ones(3, np.float32))
    for _, graph in step.passes:
        assert str(parse(str(graph))) == str(graph)
    with pytest.raises(GraphcError):
        step.graph.add("Input", types=(F,))
