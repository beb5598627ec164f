"""Whatever a step was compiled for may change: a called Cell then computes as if it were new, and says so if it is often."""

from __future__ import annotations

import array
import contextvars
import copy
import dataclasses
import enum
import functools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from tests.e2e.changing import Cfg, Net, X, compiled_times, relu, scaled, value


class Mode(enum.Enum):
    UP = 2.0
    DOWN = 0.5


@dataclasses.dataclass(frozen=True)
class Frozen:
    k: float


class Slotted:
    __slots__ = ("k",)

    def __init__(self, k: float) -> None:
        self.k = k

    @property
    def twice(self) -> float:
        return self.k * 2


# ---- attributes of the cell


def cube(x: Any) -> Any:
    return x * x * x


@pytest.mark.parametrize(
    ("compute", "before", "after"),
    [
        (lambda self, x: self.a(x), ops.relu, ops.tanh),
        (lambda self, x: self.a(x), relu, cube),
        (lambda self, x: self.a(x), ops.ReLU(), ops.Tanh()),
        (lambda self, x: self.a(x), functools.partial(ops.mul, 2.0), functools.partial(ops.mul, 3.0)),
        (lambda self, x: self.a(x, 0), ops.ReduceSum(True), ops.ReduceMax(True)),
        (lambda self, x: ops.cast(x, self.a), graphc.float32, graphc.float16),
        (lambda self, x: ops.cast(x, self.a), np.dtype("float32"), np.dtype("int32")),
        (lambda self, x: x * self.a.value, Mode.UP, Mode.DOWN),
        (lambda self, x: x * len(self.a), range(2), range(5)),
        (lambda self, x: x * len(self.a), b"ab", b"abc"),
        (lambda self, x: x * self.a[0], b"ab", b"cb"),
        (lambda self, x: x * (2 if 1 in self.a else 3), frozenset((1, 2)), frozenset((2, 3))),
        (lambda self, x: x + Tensor(self.a), X + 1, X + 2),
        (lambda self, x: x * self.a.k, Cfg(2.0), Cfg(5.0)),
        (lambda self, x: x * self.a.k, Frozen(2.0), Frozen(5.0)),
        (lambda self, x: x * self.a.twice, Slotted(2.0), Slotted(5.0)),
        (lambda self, x: x * self.a.k, types.SimpleNamespace(k=2.0), types.SimpleNamespace(k=5.0)),
        (lambda self, x: x * self.a["b"][0].k, {"b": [Cfg(2.0)]}, {"b": [Cfg(5.0)]}),
        (lambda self, x: x / self.a, 0.0, -0.0),
        (lambda self, x: self.a(Cfg)(x), (lambda _: relu), (lambda _: cube)),
    ],
)
def test_a_replaced_attribute(compute: Any, before: Any, after: Any) -> None:
    net = Net(compute, a=before)
    one = value(net)
    net.a = after
    other = value(net)
    new = Net(compute, a=after)(Tensor(X))
    assert other == new.asnumpy().tolist()
    assert other != one or str(new.dtype) != "Float32"
    assert net(Tensor(X)).dtype == new.dtype
    net.a = before
    assert value(net) == one


def test_what_is_equal_is_not_compiled_again() -> None:
    net = Net(lambda self, x: self.f(x) * self.cfg.k * self.prim(x), f=lambda x: x + 1, cfg=Cfg(2.0), prim=ops.ReLU())
    value(net)
    net.cfg, net.prim, net.unread = Cfg(2.0), ops.ReLU(), 5
    make = [lambda x: x + 1 for _ in range(2)]
    net.f = make[0]
    value(net)
    net.f = make[1]
    value(net)
    assert compiled_times(net) == 2


# ---- changed in place


class Meta(type):
    @property
    def k(cls) -> Any:
        return cls.held


class Described(metaclass=Meta):
    held = 2.0


def given(k: Any = 2.0) -> Any:
    return k


def marked(k: float) -> Parameter:
    made = Parameter(Tensor(0.0), name="marked")
    made.k = k
    return made


class Units(np.ndarray[Any, Any]):
    k = 2.0


def noted(x: Any) -> Any:
    return x * getattr(noted, "k", 2.0)


def change_list(net: Any) -> None:
    net.a[0] = lambda x: x * 5


def change_array(net: Any) -> None:
    net.a[...] = 5


def change_dict(net: Any) -> None:
    net.a["k"] = 5.0


@pytest.mark.parametrize(
    ("compute", "attribute", "change"),
    [
        (lambda self, x: self.a[0](x), [lambda x: x * 2], change_list),
        (lambda self, x: x * Tensor(self.a), np.full(3, 2, np.float32), change_array),
        (lambda self, x: x * Tensor(self.a[1]), [1, np.full(3, 2, np.float32)], lambda net: net.a[1].fill(5)),
        (lambda self, x: x * self.a.get("k", 2.0), {}, change_dict),
        (lambda self, x: x * self.a["b"].get("k", 2.0), {"b": {}}, lambda net: net.a["b"].update(k=5.0)),
        (lambda self, x: x * (5 if 7 in self.a else 2), set(), lambda net: net.a.add(7)),
        (lambda self, x: x * self.a.k, Cfg(2.0), lambda net: setattr(net.a, "k", 5.0)),
        (lambda self, x: x * self.a.default * 2, Cfg(2.0), lambda net: setattr(net.a, "default", 2.5)),
        (lambda self, x: x * self.a.cfg.k, Net(relu, cfg=Cfg(2.0)), lambda net: setattr(net.a.cfg, "k", 5.0)),
        (lambda self, x: x * getattr(self.a, "".join("k")), Cfg(2.0), lambda net: setattr(net.a, "k", 5.0)),
        (lambda self, x: x * self.a.twice, Slotted(1.0), lambda net: setattr(net.a, "k", 2.5)),
        (lambda self, x: x * self.a[0][0].k, [(Cfg(2.0),)], lambda net: setattr(net.a[0][0], "k", 5.0)),
        (lambda self, x: x * self.a.perms, ops.Transpose(), lambda net: setattr(net.a, "perms", 5)),
        (lambda self, x: x * float(self.a[0]), np.array([2.0]).view(np.recarray), change_array),
        (lambda self, x: x * float(self.a[0]) * self.a.k, np.ones(1).view(Units), lambda net: setattr(net.a, "k", 5.0)),
        (lambda self, x: x * float(self.a[0]) * self.a.k, np.ones(1).view(Units), lambda net: net.a.fill(2.5)),
        (lambda self, x: x * float(self.a[1]), np.ma.array([1.0, 2.0]), change_array),
        (
            lambda self, x: x * float(self.a.filled(5.0)[0]),
            np.ma.array([2.0]),
            lambda net: setattr(net.a, "mask", [True]),
        ),
        (lambda self, x: x * self.a[0, 1], np.array([[None, 2.0]], object), change_array),
        (lambda self, x: x * self.a[0][0], np.array([[2.0], None], object), lambda net: net.a[0].__setitem__(0, 5.0)),
        (lambda self, x: x * self.a[0], array.array("f", [2.0]), lambda net: net.a.__setitem__(0, 5.0)),
        (lambda self, x: x * self.a[-1], bytearray([2]), lambda net: net.a.append(5)),
        (lambda self, x: x * self.a[0], memoryview(bytearray([2])), lambda net: net.a.__setitem__(0, 5)),
        (lambda self, x: x * self.a.get(), contextvars.ContextVar("k", default=2.0), lambda net: net.a.set(5.0)),
        (lambda self, x: self.a(x), noted, lambda net: setattr(noted, "k", 5.0)),
        (lambda self, x: x * self.a(), given, lambda net: setattr(given, "__defaults__", (5.0,))),
        (lambda self, x: x * self.a.k, Described, lambda net: setattr(Described, "held", 5.0)),
        (lambda self, x: x * getattr(self.a, "m", 2.0) + self.a, marked(2.0), lambda net: setattr(net.a, "m", 5.0)),
        (lambda self, x: x * self.a.k + self.a, marked(2.0), lambda net: setattr(net.a, "k", 5.0)),
    ],
)
def test_a_change_in_place(compute: Any, attribute: Any, change: Any) -> None:
    if isinstance(attribute, ops.Transpose):
        attribute.perms = 2
    net = Net(compute, a=attribute)
    assert value(net) == scaled(2)
    change(net)
    assert value(net) == scaled(5)


def test_class_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(lambda self, x: x * self.factor)
    outer = nn.SequentialCell(net)
    assert value(net) == value(outer) == scaled(2)
    monkeypatch.setattr(Net, "factor", 5.0)
    assert value(net) == value(outer) == scaled(5)
    monkeypatch.setattr(Net, "construct", lambda self, x: x * 7)
    assert value(net) == value(outer) == scaled(7)
    net.factor = 3.0
    monkeypatch.undo()
    assert value(net) == scaled(3)
    del net.factor
    assert value(net) == scaled(2)


# ---- globals, closures, defaults

K = 2.0
SETTINGS = Cfg(2.0)
MODULE = types.ModuleType("settings_of_a_test")
MODULE.k = 2.0  # type: ignore[attr-defined]
MODULE.__file__ = __file__
LAYER = nn.SequentialCell(Net(lambda self, x: x * self.number, number=2.0))


def by_helper(x: Any) -> Any:
    return x * K


def by_nested(self: Any, x: Any) -> Any:
    made = [by_helper(y) for y in (x,)]
    return made[0]


@pytest.mark.parametrize(
    ("compute", "name", "new"),
    [
        (lambda self, x: x * K, "K", 5.0),
        (lambda self, x: by_helper(x), "K", 5.0),
        (by_nested, "K", 5.0),
        (lambda self, x: by_helper(x), "by_helper", lambda x: x * 5),
        (lambda self, x: x * SETTINGS.k, "SETTINGS", Cfg(5.0)),
        (lambda self, x: x * SETTINGS.k, "SETTINGS.k", 5.0),
        (lambda self, x: x * MODULE.k, "MODULE.k", 5.0),
        (lambda self, x: LAYER(x), "LAYER", Net(lambda self, x: x * 5)),
    ],
)
def test_a_changed_global(monkeypatch: pytest.MonkeyPatch, compute: Any, name: str, new: Any) -> None:
    net, function = Net(compute), graphc.jit(lambda x: compute(None, x))
    assert value(net) == value(function) == scaled(2)
    if "." not in name:
        monkeypatch.setitem(globals(), name, new)
    else:
        owner, attribute = name.split(".")
        monkeypatch.setattr(globals()[owner], attribute, new)
    assert value(net) == value(function) == scaled(5)


def test_a_changed_variable_around_a_function() -> None:
    k, other = 2.0, 3.0

    def scale(x: Any) -> Any:
        return x * k

    net, function = Net(lambda self, x: scale(x)), graphc.jit(scale)
    assert value(net) == value(function) == scaled(2)
    k = 5.0
    assert value(net) == value(function) == scaled(5)
    other = 7.0
    assert value(net) == scaled(5)
    assert other == 7
    assert compiled_times(net) == 2


def test_a_method_of_an_object() -> None:
    class Model:
        def __init__(self) -> None:
            self.k = 2.0

        @graphc.jit
        def scale(self, x: Any) -> Any:
            return x * self.k

    one, other = Model(), Model()
    assert value(one.scale) == value(other.scale) == scaled(2)
    one.k = 5.0
    assert (value(one.scale), value(other.scale)) == (scaled(5), scaled(2))
    assert value(copy.copy(one).scale) == scaled(5)


def test_the_gradient_of_a_function_whose_global_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert value(graphc.grad(by_helper)) == [2, 2, 2]
    monkeypatch.setitem(globals(), "K", 5.0)
    assert value(graphc.grad(by_helper)) == [5, 5, 5]


# ---- arguments that are no tensors


@pytest.mark.parametrize("call", [lambda n: n, lambda n: graphc.jit(lambda *args: n(*args))], ids=["cell", "jit"])
def test_arguments_count_by_what_they_are(call: Any) -> None:
    net = call(Net(lambda self, x, cfg: x * cfg.k))
    cfg = Cfg(2.0)
    assert [value(net, cfg) for cfg in (cfg, Cfg(5.0))] == [scaled(2), scaled(5)]
    cfg.k = 3.0
    assert value(net, cfg) == value(net, Frozen(3.0)) == scaled(3)
    apply = call(Net(lambda self, x, f: f(x)))
    assert [value(apply, f) for f in (relu, cube, lambda x: x * 3)] == [
        np.maximum(X, 0).tolist(),
        (X**3).tolist(),
        scaled(3),
    ]
    pick = call(Net(lambda self, x, d: x * d["k"]))
    assert value(pick, {"k": 2.0}) == value(pick, {"k": 2}) == scaled(2)


def test_equal_arguments_are_not_compiled_for_again() -> None:
    net = Net(lambda self, x, cfg: x * cfg.k)
    for _ in range(4):
        value(net, Cfg(2.0))
    assert compiled_times(net) == 1


def test_a_step_refuses_other_arguments() -> None:
    step = graphc.compile(Net(lambda self, x, cfg: x * cfg.k), Tensor(X), Cfg(2.0))
    assert step(X, Cfg(2.0)).asnumpy().tolist() == scaled(2)
    with pytest.raises(graphc.SignatureError, match="the Python value Cfg is given, it was compiled for another one"):
        step(X, Cfg(5.0))


# ---- parameters


def test_renamed_parameters() -> None:
    p = Parameter(np.ones(3, np.float32), name="p")

    @graphc.jit
    def named(x: Any) -> Any:
        return graphc.grad(lambda x: x * p, None, p, return_ids=True)(x)

    assert named(Tensor(X))[0] == "p"
    p.name = "q"
    assert named(Tensor(X))[0] == "q"


def test_another_shape_of_a_parameter_elsewhere_is_no_reason() -> None:
    net, other = Net(relu, k=1), Parameter(np.ones(3, np.float32))
    net.compute = lambda self, x: x * 2
    value(net)
    other.set_data(np.ones(5, np.float32))
    value(net)
    assert compiled_times(net) == 1


# ---- attributes that nobody foresaw


class Unwilling:
    """Has no attribute, no equality and no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise ValueError("not comparable")


def circle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def chain(make: Callable[[Any], Any]) -> Any:
    made: Any = None
    for _ in range(5000):
        made = make(made)
    return made


@pytest.mark.parametrize(
    "make",
    [
        Unwilling,
        circle,
        lambda: chain(lambda x: [x]),
        lambda: chain(lambda x: types.SimpleNamespace(a=x)),
        threading.Lock,
        lambda: (i for i in range(3)),
        lambda: np.random.default_rng(0),
        lambda: np.array([object()]),
        lambda: np.ma.array([1, 2]),
        lambda: warnings,
        lambda: graphc,
        lambda: Net,
        lambda: functools.lru_cache(cube),
        lambda: [].append,
        lambda: bytearray(b"a"),
        lambda: slice(1, 2),
        lambda: {1: 2}.keys(),
        lambda: float("nan"),
    ],
)
def test_any_object_can_be_an_attribute(make: Callable[[], Any]) -> None:
    def compute(self: Any, x: Any) -> Any:
        _ = self.a
        return x * 2

    net = Net(compute, a=make())
    assert value(net) == scaled(2)
    assert compiled_times(net) == 1
