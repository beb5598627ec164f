"""How often a called Cell is compiled, what it says of that, and what it keeps."""

from __future__ import annotations

import copy
import ctypes
import gc
import itertools
import os
import pickle
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.attached import KEY
from graphc.debug import debug
from graphc.steps import cached_steps
from graphc.steps.calls import Steps
from tests.e2e.changing import Cfg, Net, X, compiled_for, compiled_times, scaled, value

# ---- how often


def test_the_third_time_is_said() -> None:
    net = Net(lambda self, x, k: x * k)
    for k in (1, 2, 3):
        value(net, k)
    with pytest.warns(graphc.RecompileWarning) as found:
        net(Tensor(X), 4)
    assert found[0].filename == __file__
    text = str(found[0].message)
    assert text.startswith("[GC171] Net is compiled again; it has been 3 times")
    assert "an argument was 1, is 4" in text or "an argument was 3, is 4" in text
    assert "help: Python values are constants of a compiled step: pass what varies as a tensor" in text
    value(net, 5)  # Once.


def test_what_grows_in_construct_is_said() -> None:
    def grow(self: Any, x: Any) -> Any:
        self.seen.append(x.shape)
        return x * len(self.seen)

    net = Net(grow, seen=[])
    with pytest.warns(graphc.RecompileWarning, match=r"self.seen was 2 items long, is 3 items long"):
        made = [net(Tensor(X)).asnumpy()[0] for _ in range(5)]
    assert made == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "define", [lambda k: graphc.jit(lambda x: (x * k).sum()), lambda k: graphc.value_and_grad(lambda x: (x * k).sum())]
)
def test_functions_that_are_made_anew_are_said(define: Callable[[float], Any]) -> None:
    held = [define(float(k)) for k in range(5)]  # As decorators make them: each may be called again.
    for fn in (*held, *map(define, (5.0, 6.0, 7.0))):
        fn(Tensor(X))
    del fn
    held.clear()
    gc.collect()
    with pytest.warns(graphc.RecompileWarning, match=r"so were 8 others that the same definition has made") as found:
        define(8.0)(Tensor(X))
    assert found[0].filename == __file__
    define(9.0)(Tensor(X))  # Once.


def test_shapes_are_said_modes_are_not() -> None:
    net = Net(lambda self, x: x * 2)
    for _ in range(3):
        for mode in (True, False):
            net.set_train(mode)
            net(Tensor(X))
    net(Tensor(np.ones(4, np.float32)))
    with pytest.warns(graphc.RecompileWarning, match=r"input 'x' was f32\[3\], f32\[4\], is f32\[5\]") as found:
        net(Tensor(np.ones(5, np.float32)))
    assert all(remedy in str(found[0].message) for remedy in ("buckets=", "set_inputs", "drop_remainder"))
    net(Tensor(np.ones(6, np.float32)))  # Once.


def test_a_counter_in_construct_is_no_reason() -> None:
    calls, count, times = [], {"n": 0}, 0

    def counting(self: Any, x: Any) -> Any:
        nonlocal times
        times += 1
        calls.append(x.shape)
        count["n"] += 1
        count["last"] = 5
        self.cfg.k += 1
        return x * 2

    net = Net(counting, cfg=Cfg(0))
    assert value(net) == value(net) == scaled(2)
    assert (times, len(calls), count["n"], net.cfg.k) == (1, 1, 1, 1)


def test_the_number_of_steps_is_bounded() -> None:
    net = Net(lambda self, x, k: x * k)
    with debug(signatures=3), warnings.catch_warnings():
        warnings.simplefilter("ignore", graphc.RecompileWarning)
        for k in (1, 2, 3, 1, 4):
            value(net, k)
        assert compiled_times(net) == 3
        before = {k.values for k in compiled_for(net)}
        value(net, 1)  # It was called after 2 and 3.
        assert before == {k.values for k in compiled_for(net)}


def test_steps_of_all_cells_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Net(lambda self, x, k: x * k) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphc.RecompileWarning)
        value(other, 1)
        value(other, 2)
        monkeypatch.setattr(cached_steps, "limit", lambda: 0)  # There is room for the latest of each cell only.
        value(one, 1)
        assert (compiled_times(one), compiled_times(other)) == (1, 1)
        value(one, 2)
        assert (compiled_times(one), compiled_times(other)) == (1, 1)
        assert value(other, 2) == scaled(2)
    with debug(steps_mb=3):
        monkeypatch.undo()
        assert cached_steps.limit() == 3 * 2**20


def test_a_hundred_shapes_take_no_more_room_than_the_kept_ones() -> None:
    net = Net(lambda self, x: ops.matmul(x, x.T).sum())

    def grown(lengths: range) -> int:
        before = _resident()
        for n in lengths:
            net(Tensor(np.ones((1000, n), np.float32)))
        return _resident() - before

    with debug(signatures=2), warnings.catch_warnings():
        warnings.simplefilter("ignore", graphc.RecompileWarning)
        grown(range(1, 10))
        # Each has an arena of 4 MB. What Numba and LLVM keep of a compilation is a tenth of one; a busy machine has more at once.
        assert grown(range(10, 110)) < 120 * 2**20
    step = graphc.compile(net, Tensor(np.ones((1000, 3), np.float32)))
    assert step.held > step.memory["arena"] > 4 * 10**6


def test_what_steps_hold_is_counted_without_making_their_texts(tmp_path: Path) -> None:
    """A step that comes from the object cache needs none: making them would take longer than loading it."""
    x = Tensor(np.ones((3, 3), np.float32))
    with debug(cache=tmp_path):
        graphc.compile(Net(lambda self, x: ops.matmul(x, x)), x)
        step = graphc.compile(Net(lambda self, x: ops.matmul(x, x)), x)
    before = step.held
    assert step.held == before
    texts = len(step.source) + len(step.kernels)
    assert step.held == before + texts > before


def _resident() -> int:
    """Bytes of memory that this process has; what other tests have freed goes back first."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_a_weak_proxy_stands_for_counts() -> None:
    class Settings:
        factor = 2.0

    class Net(nn.Cell):
        def __init__(self, settings: Settings) -> None:
            super().__init__()
            self.settings = weakref.proxy(settings)
            self.more = [weakref.proxy(settings)]
            self.fixed = False

        def construct(self, x: Tensor) -> Tensor:
            return x if self.fixed else x * self.settings.factor

    settings = Settings()
    net = Net(settings)
    assert net(Tensor(X)).asnumpy().tolist() == (X * 2).tolist()
    settings.factor = 3.0
    assert net(Tensor(X)).asnumpy().tolist() == (X * 3).tolist()
    net.fixed = True
    del settings  # Nothing can be asked of the proxy any more.
    assert net(Tensor(X)).asnumpy().tolist() == X.tolist()
    assert net(Tensor(X)).asnumpy().tolist() == X.tolist()


# ---- what is kept


def test_a_called_cell_is_freed() -> None:
    gc.collect()
    gc.disable()
    try:
        net = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())
        net(Tensor(X[None]))
        weak, weight = weakref.ref(net), weakref.ref(net[0].weight)
        del net
        assert weak() is None
        assert weight() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("way", ["bound", "jit", "method", "grad", "closure", "converted"])
def test_cells_of_functions_are_freed(way: str) -> None:
    class Model(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.f = self.double
            self.w = Parameter(np.ones(3, np.float32), name="w")

        def double(self, x: Any) -> Any:
            return x * self.w

        def construct(self, x: Any) -> Any:
            return self.f(x)

        @graphc.jit
        def method(self, x: Any) -> Any:
            return self.f(x)

    def choosing(net: Any) -> Any:
        def choose(x: Any) -> Any:
            if x.sum() > 0:
                return net(x)
            return x

        return choose

    ways: dict[str, Callable[[Any], Any]] = {
        "bound": lambda net: net(Tensor(X)),
        "jit": lambda net: graphc.jit(lambda x: net(x))(Tensor(X)),
        "method": lambda net: net.method(Tensor(X)),
        "grad": lambda net: graphc.grad(net)(Tensor(X)),
        "closure": lambda net: graphc.grad(lambda x: net(x) * 2)(Tensor(X)),
        "converted": lambda net: graphc.jit(choosing(net))(Tensor(X)),
    }
    net = Model()
    ways[way](net)
    weak = weakref.ref(net.w)
    del net
    gc.collect()
    assert weak() is None


def test_copies_begin_anew() -> None:
    net = nn.SequentialCell(nn.Dense(3, 2))
    net(Tensor(X[None]))
    for other in (copy.deepcopy(net), copy.copy(net)):
        other[0].weight.set_data(np.ones((2, 3), np.float32))
        other[0].bias.set_data(np.zeros(2, np.float32))
        assert other(Tensor(X[None])).asnumpy().tolist() == [[2, 2]]
    assert pickle.loads(pickle.dumps(vars(net)[KEY])).values == {}


def test_a_replaced_child_is_freed_and_never_mistaken() -> None:
    net = Net(lambda self, x: self.child(x), child=Net(lambda self, x: x * 1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", graphc.RecompileWarning)
        for k in range(2, 12):  # New ones take the memory of those that are gone.
            net.child = Net(lambda self, x: x * self.k, k=float(k))
            assert value(net) == scaled(k)


def test_cells_come_while_what_is_held_is_added_up() -> None:
    made = [Steps() for _ in range(500)]
    more = threading.Thread(target=lambda: made.extend(Steps() for _ in range(2000)))
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        more.start()
        while more.is_alive():
            cached_steps.held()
    finally:
        more.join()
        sys.setswitchinterval(before)
    assert len(made) == 2500


def test_hooks_are_said_as_such() -> None:
    """What notes that a cell has other hooks is graphc's own."""
    net = nn.SequentialCell(nn.Dense(4, 3), nn.ReLU())
    x = Tensor(np.ones((2, 4), np.float32))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(4):
            net(x)
            net[0].register_forward_hook(lambda cell, inputs, output: None)
    assert "hooks of self.0 were registered or removed" in str(caught[0].message)
    assert "_hook" not in str(caught[0].message)


# ---- floats that go on changing


def test_a_float_argument_that_goes_on_changing_is_an_input() -> None:
    """Python computes with it as with a float, in float64; what is decided by it is decided in each run."""

    def compute(self: Any, x: Any, k: float, shift: float = 0.0) -> Any:
        scale = 1.0 - k**1000.0
        if k > 0.99991:
            scale = -scale
        return x * scale + shift

    net = Net(lambda self, x, k, shift=0.0: compute(self, x, k, shift=shift))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(8):
            k, shift = 0.99988 + i * 1e-5, i / 8
            expected = compute(None, X, k, np.float32(shift))
            np.testing.assert_allclose(net(Tensor(X), k, shift).asnumpy(), expected, rtol=1e-6)
    assert compiled_times(net) == 4


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda self, x, k: x * np.sqrt(k), lambda k: X * np.float32(np.sqrt(k))),  # NumPy needs a number.
        (lambda self, x, k: ops.full((3,), k), lambda k: np.full(3, k, np.float32)),  # It would be float64.
    ],
)
def test_a_float_stays_constant_where_an_input_would_be_something_else(
    compute: Callable[..., Any], expected: Callable[[float], Any]
) -> None:
    net = Net(compute)

    def checked(k: float) -> None:
        made = net(Tensor(X), k).asnumpy()
        np.testing.assert_allclose(made, expected(k), rtol=1e-6)
        assert made.dtype == np.float32

    for k in (0.0, 0.25, 0.5):
        checked(k)
    with pytest.warns(graphc.RecompileWarning, match="an argument was 0.5, is 0.75"):
        checked(0.75)
    checked(1.0)
    checked(1.25)


@pytest.mark.filterwarnings("ignore::graphc.RecompileWarning")
def test_floats_are_inputs_however_the_cell_is_called() -> None:
    net = Net(lambda self, x, k, *more: x * k + len(more))
    for i in range(8):
        assert net(Tensor(X), i / 4)[0] == i / 4
        assert net(Tensor(X), i / 2, "more")[0] == i / 2 + 1
    assert compiled_times(net) == 8


@pytest.mark.filterwarnings("ignore::graphc.RecompileWarning")
def test_all_gradients_stay_those_for_the_tensors() -> None:
    gradients = ops.GradOperation(get_all=True)(lambda x, k: (x * k).sum())
    made = [gradients(Tensor(X), i / 4) for i in range(6)]
    assert [len(g) for g in made] == [1] * 6


# ---- iterators


def _endless() -> Iterator[float]:
    numbers = [0.0]
    while True:
        yield numbers[0]
        numbers[0] += 1.0


def _plus_next(x: Tensor, items: Iterator[Any]) -> Tensor:
    item = next(items)
    return x + float(item[1] if isinstance(item, tuple) else item)


_ITERATORS: dict[str, Callable[[], Iterator[Any]]] = {
    "generator": _endless,
    "list": lambda: iter([0.0, 1.0, 2.0]),
    "range": lambda: iter(range(3)),
    "dict": lambda: iter({0.0: "", 1.0: "", 2.0: ""}),
    "zip": lambda: zip("abc", _endless(), strict=False),
    "enumerate": lambda: enumerate([0.0, 1.0, 2.0]),
    "map": lambda: map(float, range(3)),
    "cycle": lambda: itertools.cycle([0.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("kind", _ITERATORS)
def test_an_item_that_tracing_takes_is_one_for_that_call(kind: str) -> None:
    items, around = _ITERATORS[kind](), _ITERATORS[kind]()
    given = Net(lambda self, x, items: _plus_next(x, items))
    held = Net(lambda self, x: _plus_next(x, self.items), items=_ITERATORS[kind]())
    gradient = ops.value_and_grad(lambda x: _plus_next(x, around))
    for expected in (0.0, 1.0, 2.0):
        x = Tensor(np.zeros(1, np.float32))
        assert float(given(x, items)) == float(held(x)) == float(gradient(x)[0]) == expected


def test_an_iterator_that_construct_does_not_touch_is_no_reason() -> None:
    net = Net(lambda self, x: x * 2.0 if self.items is not None else x, items=_endless())
    pairs = Net(lambda self, x: x * 2.0 if self.items is not None else x, items=zip(range(9), range(9), strict=True))
    for _ in range(3):
        for each in (net, pairs):
            next(each.items)
            each(Tensor(X))
    assert compiled_times(net) == compiled_times(pairs) == 1


def test_iterators_are_said_by_their_names() -> None:
    net = Net(lambda self, x: x + next(self.items), items=_endless())
    for _ in range(3):
        net(Tensor(X))
    with pytest.warns(graphc.RecompileWarning, match=r"self.items gives its next item\n.*help: take the item before"):
        net(Tensor(X))


def test_an_argument_that_tracing_changes() -> None:
    class Count:
        n = 0

        def next(self) -> int:
            self.n += 1
            return self.n

    net, count = Net(lambda self, x, count: x * 0.0 + count.next()), Count()
    assert [float(net(Tensor(X), count)[0]) for _ in range(3)] == [1.0, 2.0, 3.0]
