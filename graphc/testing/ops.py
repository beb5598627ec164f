"""What every op must hold to, tried on the samples of its own declaration; for ops of graphc and for those declared elsewhere.

@pytest.mark.parametrize("case", op_cases(["LogCosh"]), ids=str)
def test_my_ops(case):
    case.check()
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, GradientError, GraphcError, LoweringError
from graphc.ir import Graph, OpDef, Sample, Value, all_ops, get_op, parse, verify
from graphc.ir.op import Alias, Kernel, Structural
from graphc.ir.types import COMPLEX, DTYPES, FLOATS, INTEGERS, UNSIGNED, TensorType, numpy_dtype
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.ops.user_kernels import is_users
from graphc.passes import split_complex
from graphc.testing.gradients import check_gradient
from graphc.testing.mapped import check_mapped
from graphc_codegen import compile_program
from graphc_codegen.program import ITEMSIZE

#: float32 arithmetic, a few operations deep, against float64.
TOLERANCE = 2e-5


@dataclass(frozen=True)
class OpCase:
    """One property of one op; `gradient` is of one operand of one sample."""

    op: str
    property: str
    sample: int = 0
    operand: int = 0

    def __str__(self) -> str:
        where = f"-{self.sample}-operand{self.operand}" if self.property == "gradient" else ""
        return f"{self.op}-{self.property}{where}"

    def check(self) -> None:
        """Raise AssertionError, or what the op raises, unless the op has the property."""
        if self.property == "gradient":
            check_op_gradient(self.op, self.sample, self.operand)
        else:
            PROPERTIES[self.property](self.op)


def op_cases(ops: Iterable[str] | None = None) -> list[OpCase]:
    """Every property of every op of these names; of all ops that have samples by default.

    Raises ArgumentValueError for an op that is not declared or has no samples.
    """
    names = [n for n, d in all_ops().items() if d.samples is not None] if ops is None else list(ops)
    cases = []
    for name in names:
        left_out = set() if _is_elementwise(name) else {"special_values"}
        if get_op(name).lower is None:
            left_out |= {"native_kernel", "checked_kernel"}
        cases += [OpCase(name, p) for p in PROPERTIES if p not in left_out]
        for number, sample in enumerate(samples_of(name)):
            cases += [OpCase(name, "gradient", number, operand) for operand in sample.grad]
    return cases


def check_op(name: str) -> None:
    """Every property of one op. Raises AssertionError naming op and property, or what the op raises with a note of them."""
    for case in op_cases([name]):
        try:
            case.check()
        except Exception as error:
            error.add_note(f"in {case}")
            raise


def samples_of(name: str) -> list[Sample]:
    """The samples of an op. Raises ArgumentValueError if it is not declared or has none."""
    definition = get_op(name)
    if definition.samples is None:
        raise ArgumentValueError(f"op {name} has no samples to try", help="give its declaration samples=")
    return list(definition.samples())


def sample_graph(name: str, samples: Iterable[Sample]) -> tuple[Graph, dict[int, Any]]:
    """One graph with a node of the op per sample, and the arrays of its inputs by node id."""
    graph = Graph(name)
    inputs: dict[int, Any] = {}
    results: list[Value] = []
    for sample in samples:
        values = []
        for x in sample.operands:
            x = np.asarray(x)
            node = graph.add("Input", types=(TensorType.of(x),), name=f"x{len(inputs)}")
            inputs[node.id] = x
            values.append(node.outputs[0])
        results += graph.add(name, values, sample.attrs).outputs
    graph.set_results([(f"r{i}", v) for i, v in enumerate(results)])
    return graph, inputs


# ---- properties


def check_declaration(name: str) -> None:
    """It says what it is, has a reference, and has a gradient or says that it has none."""
    definition = get_op(name)
    _require(bool(definition.doc), f"{name} has no doc")
    _require(definition.ref is not None, f"{name} has no reference")
    _require(
        definition.grad is not None or "no gradient" in definition.doc,
        f"{name} has no gradient, and its doc does not say that it has no gradient",
    )


def check_type_rule(name: str) -> None:
    """The type rule gives the dtypes and shapes that the reference gives."""
    graph, inputs = sample_graph(name, samples_of(name))
    outcome = reference.run(graph, inputs, exact=False)
    for result, array in zip(graph.results, outcome.results, strict=True):
        type, made = graph.type(result.value), TensorType(array.dtype.name, array.shape)
        _require(type == made, f"{name}, {result.name}: the type rule says {type}, the reference gives {made}")


def check_text(name: str) -> None:
    """Its nodes are valid, print, and parse back to the same text."""
    graph, _ = sample_graph(name, samples_of(name))
    verify(graph)
    again = str(parse(str(graph)))
    _require(again == str(graph), f"{name}: the text parses to\n{again}\ninstead of\n{graph}")


def check_kernel(name: str, *, checked: bool = False) -> None:
    """The kernel, or in checked mode its twin, gives what the reference does, stays in its memory, leaves operands alone.

    Each sample is tried in its own dtypes; `check_dtypes` tries others.
    """
    graph, inputs = sample_graph(name, samples_of(name))
    unknown = sorted({graph.node(i).type.dtype for i in graph.inputs} - {*ITEMSIZE, *COMPLEX})
    _require(not unknown, f"{name}: kernels do not know the dtypes of its samples: {', '.join(unknown)}")
    before = {i: x.copy() for i, x in inputs.items()}
    lowered = lower(split_complex(graph), canary=True)
    bound = compile_program(lowered.program, cache_dir=None, checked=checked).bind([], list(lowered.constants))
    bound.run([np.ascontiguousarray(inputs[i]).reshape(inputs[i].shape) for i in lowered.inputs])
    bound.check_canaries()
    for number, ((buffer, type), expected) in enumerate(zip(lowered.results, _oracle(get_op(name)), strict=True)):
        got = bound.read(buffer, type.shape, type.dtype)
        _require(got.dtype == type.numpy, f"{name}: result {number} has dtype {got.dtype}, not {type}")
        np.testing.assert_allclose(got, expected, TOLERANCE, TOLERANCE, err_msg=f"{name}: result {number}")
    for i, x in inputs.items():
        np.testing.assert_array_equal(x, before[i], err_msg=f"{name}: an operand was changed")


#: How far floats may be from those that are computed in float64: a few roundings of theirs. Integers and bools are exact.
_TOLERANCES = {
    "float64": 1e-12, "float32": TOLERANCE, "float16": 4e-3, "bfloat16": 3e-2, "complex64": TOLERANCE, "complex128": 1e-12,
}  # fmt: skip
#: Samples that are tried in dtypes other than floats.
_FEW = 3


def check_dtypes(name: str) -> None:
    """In every dtype that there is the op is refused with an error of graphc's, or gives what it should; ops of `ops.custom` in
    float dtypes only.

    Eager calls and, where the op compiles, kernels are compared: floats and complex numbers with the reference in double
    precision, integers and bools with each other. Whatever else is raised, from type rule, reference or lowering, is raised.
    """
    dtypes = FLOATS if is_users(get_op(name)) else DTYPES
    made = [s for d in dtypes for s in _in_dtype(samples_of(name), d) if _is_taken(name, s)]
    for compiled in (False, True):
        samples = [s for s in made if _compiles(name, s) == compiled]
        if not samples:
            continue
        graph, inputs = sample_graph(name, samples)
        eager, exact = reference.run(graph, inputs, exact=False).results, reference.run(graph, inputs).results
        got = _by_kernels(graph, inputs) if compiled else eager
        for number, (result, mine, by_numpy, wanted) in enumerate(zip(graph.results, got, eager, exact, strict=True)):
            type, of = graph.type(result.value), graph.type(graph.node(result.value.node).inputs[0])
            message = f"{name} of {of.dtype}: result {number}"
            _require(mine.dtype == by_numpy.dtype == type.numpy, f"{message} comes as {mine.dtype}, {by_numpy.dtype}")
            tolerance = _tolerance(graph, result.value)
            if tolerance is None:
                np.testing.assert_array_equal(mine, by_numpy, err_msg=message)
                continue
            _near(mine, wanted, tolerance, message)
            _near(by_numpy, wanted, tolerance, message)


def _tolerance(graph: Graph, value: Value) -> float | None:
    """How far a result may be off: what its operands or itself are rounded to, None for integers and bools."""
    types = [graph.type(value), *map(graph.type, graph.node(value.node).inputs)]
    return max((_TOLERANCES[t.dtype] for t in types if t.dtype in _TOLERANCES), default=None)


def _near(got: Any, wanted: Any, tolerance: float, message: str) -> None:
    if wanted.dtype.kind == "b":
        np.testing.assert_array_equal(got, wanted, err_msg=message)
        return
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        # What is beyond the dtype is infinite in it.
        wanted = wanted.astype(got.dtype).astype(wide)
    np.testing.assert_allclose(got.astype(wide), wanted, tolerance, tolerance, err_msg=message)


def _by_kernels(graph: Graph, inputs: dict[int, Any]) -> list[Any]:
    """The results by native kernels, which stay in their memory."""
    lowered = lower(split_complex(graph), canary=True)
    bound = compile_program(lowered.program, cache_dir=None).bind([], list(lowered.constants))
    bound.run([np.ascontiguousarray(inputs[i]).reshape(inputs[i].shape) for i in lowered.inputs])
    bound.check_canaries()
    return [bound.read(buffer, type.shape, type.dtype) for buffer, type in lowered.results]


def _in_dtype(samples: Iterable[Sample], dtype: str) -> list[Sample]:
    """The samples in another dtype than that of their first operand, where that is float32 or int32; a few but for floats."""
    made: list[Sample] = []
    for sample in samples:
        arrays = [np.asarray(x) for x in sample.operands]
        own = arrays[0].dtype.name if arrays else ""
        if own not in ("float32", "int32") or own == dtype or (own == "int32" and dtype in FLOATS):
            continue
        if dtype not in FLOATS and len(made) == _FEW:
            break
        with np.errstate(all="ignore"):
            changed = tuple(_converted(a, dtype) if a.dtype == own else a for a in arrays)
        made.append(Sample(changed, sample.attrs, sample.grad))
    return made


def _converted(x: Any, dtype: str) -> Any:
    """Numbers of another dtype, made of these."""
    if dtype in COMPLEX:
        return (x - 0.75j * np.roll(x.reshape(-1), 1).reshape(x.shape)).astype(dtype)
    if x.dtype.kind == "f" and dtype in INTEGERS:
        x = np.trunc(np.nan_to_num(4 * x, posinf=7, neginf=-7).clip(-90, 90))
    if dtype in UNSIGNED:
        x = np.abs(x)
    return (x > 0) if dtype == "bool" else x.astype(numpy_dtype(dtype))


def _is_taken(name: str, sample: Sample) -> bool:
    """Whether the type rule takes a sample."""
    try:
        sample_graph(name, [sample])
    except GraphcError:
        return False
    return True


def _compiles(name: str, sample: Sample) -> bool:
    """Whether there is a kernel for a sample."""
    try:
        lower(split_complex(sample_graph(name, [sample])[0]))
    except LoweringError:
        return False
    return True


def check_complex_gradients(name: str) -> None:
    """The gradients of samples hold for complex numbers, too, where the op takes them and does not refuse their gradient."""
    for sample in _in_dtype(samples_of(name), "complex128"):
        if not sample.grad or not _is_taken(name, sample):
            continue
        graph, inputs = sample_graph(name, [sample])
        for operand in sample.grad:
            if graph.node(list(inputs)[operand]).type.is_complex:
                with suppress(GradientError):
                    check_gradient(graph, inputs, list(inputs)[operand])


@functools.cache
def _oracle(definition: OpDef) -> list[Any]:
    """What the reference gives for every sample, in float64."""
    graph, inputs = sample_graph(definition.name, samples_of(definition.name))
    return reference.run(graph, inputs).results


def check_op_gradient(name: str, sample: int, operand: int) -> None:
    """The gradient for a sample's operand, and the tangent along it, agree with finite differences."""
    graph, inputs = sample_graph(name, [samples_of(name)[sample]])
    check_gradient(graph, inputs, list(inputs)[operand])


#: Ops of a step's own state, which no function under vmap may touch.
_STATE = ("AppendLog", "Assign", "GetFloatStatus")


#: Samples of more elements are about the accuracy of kernels.
_MAPPED_ELEMENTS = 1 << 13


def check_vmap(name: str) -> None:
    """The op under vmap is the op for each index of the batch axis, on samples that are not large."""
    for sample in samples_of(name) if name not in _STATE else ():
        if sum(np.size(x) for x in sample.operands) <= _MAPPED_ELEMENTS:
            check_mapped(name, sample)


#: Numbers at which elementwise ops are special.
_SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3e38, -3e38, 2.5, 1e-30, 88.8, -104.0], np.float32)


def check_special_values(name: str) -> None:
    """NaN and infinity give what the reference gives in float32, for an elementwise op without attributes."""
    special = _SPECIAL
    if name in ("Sin", "Cos", "Tan"):
        # Beyond 2**51 the kernels give NaN; see docs/decisions.md.
        special = special[~((np.abs(special) > 2.0**51) & np.isfinite(special))]
    operands: tuple[Any, ...] = (special,)
    if len(samples_of(name)[0].operands) == 2:
        operands = (np.repeat(special, special.size), np.tile(special, special.size))
    if name == "BiasAdd":
        operands = (special[:, None] * np.ones((1, 3), np.float32), np.array([np.nan, np.inf, 1], np.float32))
    graph, inputs = sample_graph(name, [Sample(operands)])
    expected = reference.run(graph, inputs, exact=False).results[0]
    lowered = lower(graph)
    bound = compile_program(lowered.program, cache_dir=None).bind([], list(lowered.constants))
    bound.run([inputs[i] for i in lowered.inputs])
    got = bound.read(lowered.results[0][0])
    tiny = (
        np.abs(expected.astype(np.float64)) < 1.2e-38 if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
    )
    np.testing.assert_array_equal(np.isnan(got[~tiny]), np.isnan(expected[~tiny]), err_msg=name)
    np.testing.assert_allclose(got[~tiny], expected[~tiny], rtol=1e-5, err_msg=name)


def _is_elementwise(name: str) -> bool:
    """Whether special values can be put in: an elementwise op of one or two float32 operands, without attributes."""
    definition = get_op(name)
    if definition.lower is None or isinstance(definition.lower, (Alias, Kernel, Structural)):
        return False
    if len(definition.operands) not in (1, 2) or definition.attrs:
        return False
    return all(np.asarray(x).dtype == np.float32 for x in samples_of(name)[0].operands)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


#: What `op_cases` tries of every op; gradients come after, one for each operand that a sample names.
PROPERTIES: dict[str, Callable[[str], None]] = {
    "declaration": check_declaration,
    "type_rule": check_type_rule,
    "text": check_text,
    "native_kernel": check_kernel,
    "checked_kernel": functools.partial(check_kernel, checked=True),
    "dtypes": check_dtypes,
    "vmap": check_vmap,
    "complex_gradients": check_complex_gradients,
    "special_values": check_special_values,
}
