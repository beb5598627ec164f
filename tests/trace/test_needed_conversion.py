"""Functions that Python's values decide run as they are; those that a tensor may decide are converted. Both give one graph."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
import textwrap
import types
from functools import cache

import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.errors import TraceTypeError
from graphc.ir.equiv import difference
from graphc.trace.conversion import code_names, needed
from graphc.trace.conversion.code_names import definition, is_users
from tests.trace.tracing import X, cell, traced


def positive(x):
    return x if x.sum() > 0 else -x


def twice(x):
    return x * 2


def layers():
    return nn.CellList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])


# ---- what Python decides


def by_a_constant(self, x):
    return x * 2 if self.double else x


def by_what_is_there(self, x):
    y = self.first(x)
    if self.second is not None and not self.skip:
        y = self.second(y)
    if self.skip:
        y = self.nowhere(y)
    return y


def by_comparisons(self, x, mask=None):
    if mask is None and self.kind == "sum" and 0 < self.size <= 4:
        return x.sum()
    return x if isinstance(x, tuple) or len(self.parts) > 2 else x.mean()


def over_cells(self, x):
    for i, layer in enumerate(self.layers):
        x = layer(x) + i
    for number in self.more[1:]:
        x = ops.abs(x) * number
    return x


def over_two(self, x):
    for layer, scale in zip(self.layers, self.scales, strict=True):
        x = layer(x).reshape(3, 2).reshape(2, 3) * scale
    return sum([layer(x) for layer in self.layers if self.summed], x)


def over_numbers(self, x):
    for i in range(len(self.layers)):
        x = self.layers[i](x)
    for name, layer in self.table.items():
        x = layer(x) * len(name)
    return x


def calls_a_function(self, x):
    return twice(x) if self.double else self.function(x)


DECIDED = [
    cell(by_a_constant, double=True),
    cell(by_what_is_there, first=nn.ReLU(), second=nn.Tanh(), skip=False),
    cell(by_comparisons, kind="sum", size=3, parts=(1, 2)),
    cell(by_comparisons, kind="mean", size=3, parts=(1, 2)),
    cell(over_cells, layers=layers(), more=[1, 2]),
    cell(over_two, layers=layers(), scales=[0.5, 2, 3], summed=True),
    cell(over_numbers, layers=layers(), table={"ab": nn.ReLU(), "c": nn.Tanh()}),
    cell(calls_a_function, double=False, function=twice),
]


@pytest.mark.parametrize("net", DECIDED, ids=lambda net: net.construct.__name__)
def test_what_python_decides_runs_as_it_is(net, monkeypatch):
    assert not needed.needs_conversion(net.construct)
    plain = traced(net, X)
    monkeypatch.setattr(needed, "_by_python", lambda *_: False)
    assert needed.needs_conversion(net.construct)
    assert difference(plain, traced(net, X)) is None


# ---- what a tensor may decide


def by_an_operand(self, x):
    return x if x.sum() > 0 else -x


def by_what_it_makes(self, x):
    total = x.sum()
    if self.positive and total > 0:
        x = x * total
    return x


def by_a_parameter(self, x):
    return x if self.p > 0 else -x


def by_a_property(self, x):
    return x if self.grad_of else x * 2


def by_what_it_sets(self, x):
    self.flag = x.sum() > 0
    return x if self.flag else -x


def over_an_operand(self, x, n=2):
    for _ in range(n):
        x = x * 2
    return x


def over_functions(self, x):
    for function in self.functions:
        x = function(x)
    return x


def over_tables_of_functions(self, x):
    for name in self.table:
        x = self.table[name][0](x)
    return x


def by_name(self, x):
    for name in self.names:
        x = getattr(self, name)(x)
    return x


def given_a_function(self, x, function=positive):
    return function(x) if self.on else x


def calls_one_that_branches(self, x):
    return positive(x) if self.on else x


def calls_an_attribute(self, x):
    return self.function(x) if self.on else x


def sets_items(self, x):
    y = x * 1
    for i in range(2):
        y[i] = x[i] * i
    return y


def with_a_lambda(self, x):
    return (lambda y: y * 2)(x) if self.on else x


def with_assertion(self, x):
    assert self.on
    return x


def calls_what_it_imports(self, x):
    from operator import neg

    return neg(x) if self.on else x


def passes_it_on(self, x):
    return self.function(x)


def passes_it_on_by_an_item(self, x):
    first = self.functions[0]
    return first(x)


def passes_it_on_by_a_module(self, x):
    return elsewhere.chosen(x)


def passes_it_on_by_a_part(self, x):
    return self.part.chosen(x)


class Part:
    """Of a cell, and no cell itself."""

    def chosen(self, x):
        return positive(x)


elsewhere = types.ModuleType("elsewhere")
elsewhere.chosen = Part().chosen

CONVERTED = [
    cell(passes_it_on, function=positive),
    cell(passes_it_on_by_an_item, functions=[positive]),
    cell(passes_it_on_by_a_module),
    cell(passes_it_on_by_a_part, part=Part()),
    cell(calls_what_it_imports, on=True),
    cell(by_an_operand),
    cell(by_what_it_makes, positive=True),
    cell(by_a_parameter, p=Parameter(Tensor(1.0), name="p")),
    cell(over_an_operand),
    cell(over_functions, functions=[twice, positive]),
    cell(over_tables_of_functions, table={"a": (positive,)}),
    cell(by_name, names=["first"], first=positive),
    cell(given_a_function, on=True),
    cell(calls_one_that_branches, on=True),
    cell(calls_an_attribute, on=True, function=positive),
    cell(sets_items),
    cell(with_a_lambda, on=True),
    cell(with_assertion, on=True),
]


@pytest.mark.parametrize("net", CONVERTED, ids=lambda net: net.construct.__name__)
def test_what_a_tensor_may_decide_is_converted(net):
    assert needed.needs_conversion(net.construct)
    traced(net, X)


def test_a_function_without_source_is_no_less_safe():
    names: dict[str, object] = {}
    exec("def construct(self, x):\n    return x if self.on else -x\n", names)
    assert needed.needs_conversion(cell(names["construct"], on=True).construct)


def test_what_cannot_be_known_before_is_converted():
    class Net(nn.Cell):
        @property
        def on(self):
            raise AssertionError("not to be asked")

        def construct(self, x):
            return x if self.on else -x

    assert needed.needs_conversion(Net().construct)
    assert needed.needs_conversion(positive)


def test_an_attribute_that_becomes_a_tensor():
    net = cell(by_a_constant, double=True)
    assert not needed.needs_conversion(net.construct)
    net.double = Parameter(Tensor(1.0), name="double")
    assert needed.needs_conversion(net.construct)
    assert any(node.op.name == "If" for node in traced(net, X))


def test_a_range_of_a_tensor_is_converted():
    assert [n.op.name for n in traced(cell(over_an_operand), X, Tensor(2))].count("While") == 1


# ---- reading a function's source


def in_brackets(x):
    x.y = (
        x,
        "a # b",
    )


def nested(x):
    def inner(
        y,
    ):
        for z in y:
            x(
                z
            )  # fmt: skip


def of_lines(x): return x  # fmt: skip


@cache
def decorated(x):
    """Text
    def no_function():
    """
    if x:
        return (
            1
        )  # fmt: skip
    # The end.


def without_lines(code):
    inner = tuple(without_lines(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=inner)


@pytest.mark.parametrize(
    "code",
    [
        in_brackets.__code__,
        nested.__code__,
        of_lines.__code__,
        decorated.__wrapped__.__code__,
        positive.__code__,
        nn.Dense.__init__.__code__,
        test_a_range_of_a_tensor_is_converted.__code__,
    ],
    ids=lambda code: code.co_name,
)
@pytest.mark.parametrize("positions", [True, False])
def test_a_definition_is_what_inspect_finds(code, positions):
    if not positions:  # As with python -X no_debug_ranges.
        code = without_lines(code)
    whole = ast.parse(textwrap.dedent("".join(inspect.getsourcelines(code)[0]))).body[0]
    assert ast.dump(definition(code)) == ast.dump(whole)


def test_a_function_without_a_file_has_no_definition():
    space = {}
    exec("def typed(x):\n    return x", space)
    assert definition(space["typed"].__code__) is None


def test_lambdas_that_cannot_be_told_apart_run_as_they_are():
    """No parser finds the text of one of two lambdas in a line: what Python decides in them still runs."""
    first, second = (lambda self, x: x * (2 if self.on else 3)), (lambda self, x: x if x.sum() > 0 else -x)
    assert [n.op.name for n in traced(cell(passes_on_with_self, function=first, on=True), X)].count("Mul") == 1
    with pytest.raises(TraceTypeError, match=r"\[GC120\] the truth value of a traced tensor"):
        traced(cell(passes_on_with_self, function=second, on=True), X)


def passes_on_with_self(self, x):
    return self.function(self, x)


def test_what_python_is_made_of_is_not_the_users():
    for function in (importlib._bootstrap._load, importlib.import_module, textwrap.dedent, ops.exp):
        assert not is_users(function)
    assert is_users(positive)


# ---- installed packages


FILES = {
    "over_graphc/__init__.py": "",
    "over_graphc/steps.py": """
        from graphc import ops

        FACTOR = 2

        def step(x):
            y = ops.relu(x)
            if y.sum() > 0:
                y = y * FACTOR
            return y
    """,
    "over_graphc/plain.py": """
        def sign(x):
            return x if x.sum() > 0 else -x
    """,
    "without.py": """
        def sign(x):
            return x if x.sum() > 0 else -x
    """,
}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.setattr(code_names, "_INSTALLED", (f"{tmp_path}{os.sep}",))
    monkeypatch.setattr(code_names, "_USING", {})
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module
    for name in ("over_graphc.steps", "over_graphc.plain", "over_graphc", "without"):
        sys.modules.pop(name, None)


def test_a_package_that_uses_graphc_is_converted(installed):
    steps = installed("over_graphc.steps")
    call = graphc.jit(lambda x: steps.step(x))
    assert call(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    steps.FACTOR = 3
    assert call(Tensor([1.0, 2.0])).tolist() == [3.0, 6.0]


def test_so_are_those_of_its_modules_that_do_not_name_it(installed):
    plain = installed("over_graphc.plain")
    assert not is_users(plain.sign)
    installed("over_graphc.steps")
    assert is_users(plain.sign)


def test_a_package_without_graphc_is_not(installed):
    sign = installed("without").sign
    assert not is_users(sign)
    with pytest.raises(TraceTypeError, match="truth value of a traced tensor"):
        graphc.jit(lambda x: sign(x))(Tensor([1.0]))
