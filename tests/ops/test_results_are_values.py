"""What a function of graphc.ops returns is a value, never the Parameter it was given: a later assign does not change it, but
for what only rearranges, in eager calls. In a compiled Cell it is no tensor that it was given, either: a write to one leaves the
other.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools

import numpy as np
import pytest

from graphc import Parameter, Tensor, dispatch, jit, nn, ops
from graphc.trace.standins import DeferredDepend
from graphc.trace.tracer import Tracer

#: Functions of Python values that hand on what they are given, references to parameters among them.
OF_PYTHON_VALUES = {
    "bool_and", "bool_or", "cond", "depend", "dict_getitem", "dict_setitem", "list_getitem", "list_setitem", "make_dict",
    "make_list", "make_tuple", "mutable", "scalar_add", "scalar_mul", "string_concat", "tail", "tuple_getitem",
    "tuple_reversed", "tuple_setitem", "zip_operation", "identity", "fori_loop", "Depend", "UpdateState", "Load",
    "augassign_add", "augassign_mul",
}  # fmt: skip
#: Functions that change the tensor they are given, and return it.
IN_PLACE = {
    "bernoulli_", "clamp_", "erfinv_", "exponential_", "inplace_sigmoid", "normal_", "put_", "random_", "stop_gradient_", "tanh_",
    "uniform_", "zero_",
}  # fmt: skip
#: Functions that change a tensor, or may be told to, and return it; of a Parameter what it holds then.
IN_PLACE_OF_TENSORS = {"relu", "array_to_scalar", *(n for n in ops.__all__ if n.startswith(("assign", "scatter_")))}
#: Methods that write the tensor and return it, make data that are still to be made, or copy it as a Parameter.
OF_THE_TENSOR = {"assign_value", "init_data", "clone", "copy"}

PARAMETERS = [
    Parameter(np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 10, name="matrix"),
    Parameter(np.array([0.5], np.float32), name="vector"),
    Parameter(np.array(0.5, np.float32), name="number"),
    Parameter(np.ones((1, 1, 2, 2), np.float32), name="image"),
    Parameter(np.array([[1, 2], [3, 4]], np.int32), name="integers"),
    Parameter(np.array([True]), name="bool"),
]


def holds(result, x):
    if isinstance(result, (tuple, list)):
        return any(holds(part, x) for part in result)
    return result is x or isinstance(result, (Parameter, DeferredDepend))


def arguments(p):
    """What changes nothing, where it is an argument at all."""
    return [p.shape, p.dtype, 0, 1, (), (0,) * p.ndim, (1,) * p.ndim, p]


def required(function):
    with contextlib.suppress(TypeError, ValueError):
        given = inspect.signature(function).parameters.values()
        return sum(a.default is a.empty and a.kind is a.POSITIONAL_OR_KEYWORD for a in given)
    return None


def handed_on(function_of, counts, kinds=(False, True)):
    """The arguments with which a function returns what it is given, a Parameter or a traced tensor, or None."""
    for p, traced in itertools.product(PARAMETERS, kinds):
        for n in counts:
            for places in itertools.product(range(len(arguments(p))), repeat=n):
                tracer = Tracer("test")
                token = dispatch.recorder.set(tracer)
                try:
                    x = (
                        tracer.wrap(tracer.graph.add("Input", types=(p.tensor_type,), name="x").outputs[0])
                        if traced
                        else p
                    )
                    rest = [arguments(x)[i] for i in places]
                    for function, head in function_of(x):
                        with contextlib.suppress(Exception):
                            if holds(function(*head, *rest), x):
                                return traced, *rest
                finally:
                    dispatch.recorder.reset(token)
    return None


def functions():
    return sorted(
        n
        for n in ops.__all__
        if callable(f := getattr(ops, n))
        and not inspect.isclass(f)
        and n not in OF_PYTHON_VALUES | IN_PLACE
        and (required(f) or 4) < 4
    )


def methods():
    return sorted(
        n
        for n, f in vars(Tensor).items()
        if inspect.isfunction(f) and not n.startswith("_") and not n.endswith("_") and n not in OF_THE_TENSOR
    )


@pytest.mark.parametrize("name", functions())
def test_no_function_returns_what_it_is_given(name):
    function = getattr(ops, name)
    counts = {required(function) - 1, max(required(function) - 1, 1)}
    kinds = (False, True)[: 1 if name in IN_PLACE_OF_TENSORS else 2]
    assert handed_on(lambda x: [(function, [x]), (function, [[x]])], counts, kinds) is None


@pytest.mark.parametrize("name", methods())
def test_no_method_returns_its_tensor(name):
    counts = {required(getattr(PARAMETERS[0], name)) or 0, 1}
    assert handed_on(lambda x: [(getattr(x, name), [])], counts) is None


@pytest.mark.parametrize(
    "name", sorted(n for n in ops.__all__ if inspect.isclass(getattr(ops, n)) and n not in OF_PYTHON_VALUES)
)
def test_no_primitive_returns_what_it_is_given(name):
    with contextlib.suppress(Exception):
        primitive = getattr(ops, name)()
        assert handed_on(lambda x: [(primitive, [x]), (primitive, [[x]])], {0, 1}) is None


NOTHING_TO_DO = {
    "cast": lambda p: ops.cast(p, "float32"),
    "reshape": lambda p: ops.reshape(p, (2, 3)),
    "ravel": lambda p: ops.reshape(ops.ravel(ops.reshape(p, (6,))), (2, 3)),
    "flatten": ops.flatten,
    "narrow": lambda p: ops.narrow(p, 0, 0, 2),
    "strided_slice": lambda p: ops.strided_slice(p, (0, 0), (2, 3), (1, 1)),
    "movedim": lambda p: ops.movedim(p, 0, 0),
    "addn": lambda p: ops.addn([p]),
    "Identity": lambda p: ops.Identity()(p),
    "type_as": lambda p: ops.type_as(p, p),
    "float": lambda p: p.float(),
    "to": lambda p: p.to("float32"),
    "reshape_as": lambda p: p.reshape_as(p),
    "flip": lambda p: ops.flip(p, ()),
    "roll": lambda p: ops.roll(p, 0, 0),
    "dropout": lambda p: ops.dropout(p, 0.5, False),
    "of what depend made": lambda p: ops.cast(ops.depend(p, p + 1), "float32"),
    "transpose": lambda p: ops.transpose(ops.transpose(p)),
    "part": lambda p: p[:],
    "stop_gradient": ops.stop_gradient,
}


#: Of these the ones that have the parameter's memory in eager calls, as in MindSpore.
FOLLOW = {
    "reshape", "ravel", "flatten", "narrow", "strided_slice", "reshape_as", "transpose", "part", "stop_gradient",
}  # fmt: skip


class Overwritten(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.p = Parameter(np.zeros((2, 3), np.float32), name="p")
        self.function = function

    def construct(self, x):
        old = self.function(self.p)
        ops.assign(self.p, x)
        return old * 1.0


@pytest.mark.parametrize("name", NOTHING_TO_DO)
def test_assigning_later_changes_no_result(name):
    function, new = NOTHING_TO_DO[name], Tensor(np.ones((2, 3), np.float32))
    assert not Overwritten(function)(new).asnumpy().any()
    cell = Overwritten(function)
    old = function(cell.p)
    ops.assign(cell.p, new)
    assert old.asnumpy().any() == (name in FOLLOW)
    assert cell.p.asnumpy().all()


def test_outside_a_step_what_only_rearranges_a_parameter_follows_it():
    p = Parameter(np.zeros((2, 3), np.float32), name="p")
    made = [ops.reshape(p, (6,)), ops.transpose(p, (1, 0)), p[0]]
    values = [p + 0, ops.assign(p, p), p.value()]
    ops.assign(p, p + 5)
    assert all(x.asnumpy().all() for x in made)
    assert not any(x.asnumpy().any() for x in values)


COPIES = {
    "Identity": ops.Identity(), "flatten": ops.flatten, "Flatten": ops.Flatten(), "flip": lambda x: ops.flip(x, (0,)),
    "roll": lambda x: ops.roll(x, 0, 0), "real": ops.real, "conj": ops.conj, "dropout": lambda x: ops.dropout(x, 0.0, True),
    "copy": lambda x: x.copy(), "adaptive_avg_pool2d": lambda x: ops.adaptive_avg_pool2d(x[None], (2, 3))[0],
    "interpolate": lambda x: ops.interpolate(x[None, None], size=(2, 3), mode="nearest")[0, 0],
}  # fmt: skip
SHARES = {
    "identity": ops.identity, "reshape": lambda x: x.reshape(2, 3), "cast": lambda x: ops.cast(x, "float32"),
    "contiguous": lambda x: x.contiguous(), "stop_gradient": ops.stop_gradient, "part": lambda x: x[:],
    "dropout": lambda x: ops.dropout(x, 0.5, False), "transpose": lambda x: ops.transpose(ops.transpose(x)),
}  # fmt: skip


@pytest.mark.parametrize("function", COPIES.values(), ids=COPIES)
def test_outside_of_cells_these_are_copies(function):
    x = Tensor(np.ones((2, 3), np.float32))
    function(x)[0] = 5
    assert x.asnumpy().max() == 1


@pytest.mark.parametrize("function", SHARES.values(), ids=SHARES)
def test_outside_of_cells_these_share_memory_and_in_compiled_ones_they_do_not(function):
    def written(x):
        x = x * 1
        y = function(x)
        y[0] = 5
        return x

    assert written(Tensor(np.ones((2, 3), np.float32))).asnumpy().max() == 5
    assert jit(written)(Tensor(np.ones((2, 3), np.float32))).asnumpy().max() == 1


def test_a_copy_keeps_the_sign_of_zero():
    assert np.signbit(Tensor(np.array([-0.0], np.float32)).copy().asnumpy()).all()
