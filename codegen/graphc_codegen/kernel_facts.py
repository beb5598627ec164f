"""What a planner must know of each named kernel: a row for each. The room `kernels` has what writes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Params = Mapping[str, Any]


#: The longest row that a softmax keeps on the stack.
SOFTMAX_ROW = 4096
#: Elements of rows that are worth a look at the indices of others.
_LONG = 16


class Work(NamedTuple):
    """What the time of a kernel is spent on: multiply-adds, and pixels that are transformed for them."""

    products: float
    transformed: int = 0


def _takes_no_epilogue(p: Params) -> tuple[int, ...] | None:
    return None


def _none(p: Params) -> tuple[int, ...]:
    return ()


def _always_divisible(p: Params) -> bool:
    return True


def _indivisible(p: Params) -> bool:
    return False


def _rows_are_long(p: Params) -> bool:
    """Every thread looks at all indices for those of its own rows, and guesses half of them wrong."""
    return int(p["inner"]) >= _LONG


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What is known of a named kernel.

    result      from its params the axes of its only result as an epilogue sees them (`kernels.epilogue`), None where it takes
                none; elements follow each other as in an array of this shape
    outputs     how many operands it writes, maybe from its params, unless those say it (`stores`) or add to them (`indexed`,
                `marks`)
    scratch     whether it writes one more, which nobody reads; so does a product with `panels` or `tiles`
    divisible   from its params whether threads can share the work. Where the order of writes is the meaning, they cannot
    exchanges   whether threads that share it exchange partial results, in memory that the step has once for that
    watches     whether it can mark what is not finite as it stores its result (`marks` in `kernels.epilogue`)
    overwrites  whether the epilogue may write over a further operand that it reads like the result: each element once, just
                before
    work        from its params what its time is spent on; None where it goes with the sizes of the operands
    terms       from its params how many terms its longest sum of float32 may have, if it takes a `block`: the number of terms
                that an accumulator takes at most before it is brought into one of float64
    float64     whether its result is float64 then: it holds sums that are added to
    halves      from its params the numbers of those operands of float32 that may be halves in memory (`kernels.narrow`): inputs
                that are read once, or few times, by way of vectors, and results that are not read again
    parts       whether its results may be parts of one buffer that have no element in common, as params say
    fails       whether it may end the step: all threads meet before it and after it
    """

    result: Callable[[Params], tuple[int, ...] | None] = _takes_no_epilogue
    outputs: int | Callable[[Params], int] = 1
    scratch: bool = False
    divisible: Callable[[Params], bool] = _always_divisible
    exchanges: bool = False
    watches: bool = False
    overwrites: bool = False
    work: Callable[[Params], Work] | None = None
    terms: Callable[[Params], int] | None = None
    float64: bool = False
    halves: Callable[[Params], tuple[int, ...]] = _none
    parts: bool = False
    fails: bool = False


def _gemm_result(p: Params) -> tuple[int, ...] | None:
    if "c" in p or p["accumulate"] or (p["ta"] and p["tb"]) or "dtype" in p:
        return None
    return (p.get("batch", 1), p["m"], p["n"])


def _conv_result(p: Params) -> tuple[int, ...] | None:
    down, across = p.get("pool", (1, 1))
    return (p["n"], p.get("groups", 1) * p["co"], p["oh"] // down * (p["ow"] // across))


def _max_pool_result(p: Params) -> tuple[int, ...] | None:
    return (p["planes"] * p["oh"] * p["ow"],)


def _max_pool_grad_result(p: Params) -> tuple[int, ...] | None:
    tiles = (p["oh"] * p["sh"], p["ow"] * p["sw"]) == (p["h"], p["w"]) and (p["sh"], p["sw"]) == (p["kh"], p["kw"])
    if tiles and p["sw"] <= 2 and p["kh"] * p["kw"] <= 16 and p["pt"] == p["pl"] == 0:
        return (p["planes"] * p["h"] * p["w"],)
    return None


def _rows_result(p: Params) -> tuple[int, ...] | None:
    return (p["rows"], p["cols"])


def _product(p: Params, *names: str) -> int:
    return math.prod(p[name] for name in names)


def _gemm_work(p: Params) -> Work:
    return Work(_product(p, "m", "n", "k") * int(p.get("batch", 1)))


def _conv_work(p: Params) -> Work:
    return Work(_product(p, "n", "co", "ci", "kh", "kw", "oh", "ow") * int(p.get("groups", 1)))


def _winograd_work(p: Params) -> Work:
    """The products of F(4, taps), along both axes or one, and transforms of both images."""
    pixels = _product(p, "n", "ci", "oh", "ow") + _product(p, "n", "co", "oh", "ow")
    fewer = math.prod(4 * taps / (taps + 3) for taps in (p["kh"], p["kw"]))
    return Work(_conv_work(p).products / fewer, pixels)


def _attention_work(p: Params, products: int) -> Work:
    """Of that many products of scores with rows; of causal scores half count."""
    seen = min(p["s"], p["s"] / 2 + p["ahead"]) if p["ahead"] >= 0 else p["s"]
    return Work(math.prod(p["axes"]) * p["l"] * seen * products * (p["d"] + p["e"]) / 2)


def _factor_work(p: Params) -> Work:
    return Work(_product(p, "batch", "size", "size", "size") / 6)


def _lu_work(p: Params) -> Work:
    return Work(_product(p, "batch", "size", "size", "size") / 3)


def _lu_solve_work(p: Params) -> Work:
    return Work(_product(p, "batch", "size", "size", "cols"))


def _eigh_work(p: Params) -> Work:
    """About six sweeps of seven products for every pair of rows and every column."""
    return Work(_product(p, "batch", "size", "size", "size") * 20)


def _pinv_work(p: Params) -> Work:
    """As for eigenvalues, of rows as long as the matrix and what they are rotated by."""
    few = min(p["rows"], p["cols"])
    return Work(float(p["batch"] * few * few * (p["rows"] + p["cols"])) * 15)


def _form_work(p: Params) -> Work:
    return Work(_product(p, "batch", "size", "size", "size", "parts", "parts") * 1.5)


def _assignment_work(p: Params) -> Work:
    """A guess: searches see few of the rows before they end."""
    return Work(_product(p, "rows", "cols") * min(p["rows"], p["cols"]) / 16)


def _solve_work(p: Params) -> Work:
    return Work(_product(p, "batch", "size", "size", "cols") / 2)


def _fourier_work(p: Params) -> Work:
    """About five operations for each number and each time that their count can be halved, of which two are one product."""
    return Work(_product(p, "outer", "count", "size") * 2.5 * math.log2(p["size"] + 1))


def _fourier_rows_work(p: Params) -> Work:
    size = p["split"][0] * p["split"][1]
    return Work(p["rows"] * size * 2.5 * math.log2(size + 1))


def _fourier_outputs(p: Params) -> int:
    return 1 if "target" in p["whole"] else 2


def _fold_work(p: Params) -> Work:
    """No products: numbers that are read from memory, as when images are transformed."""
    return Work(0, _product(p, "part", "size"))


def _columns(p: Params) -> int:
    return int(p["cols"])


def _scattered(p: Params) -> int:
    return int(p["count"]) if (p["mode"], p["dtype"]) == ("add", "float32") else 0


def _always(*operands: int) -> Callable[[Params], tuple[int, ...]]:
    return lambda p: operands


def _gemm_halves(p: Params) -> tuple[int, ...]:
    """Accumulating products read their result."""
    return () if "dtype" in p else (0, 1) if p["accumulate"] else (0, 1, 2)


def _batch_halves(p: Params) -> tuple[int, ...]:
    """Images are read once, to be moved into lanes. Scratch memory stands before the result."""
    return () if p.keys() & {"pool", "unpool"} else (0, 1, 3)


def _softmax_halves(p: Params) -> tuple[int, ...]:
    """Exponentials of a row that is stored as halves stand on the stack meanwhile."""
    return (0, 1) if p["cols"] <= SOFTMAX_ROW else (0,)


def _cross_entropy_halves(p: Params) -> tuple[int, ...]:
    """Sparse labels are no floats."""
    return (0, 2, 3) if p["sparse"] else (0, 1, 2, 3)


def _pool_halves(p: Params) -> tuple[int, ...]:
    """Small windows that are not clipped and at most two pixels apart are read as vectors, others gathered."""
    below, right = (p["oh"] - 1) * p["sh"] + p["kh"], (p["ow"] - 1) * p["sw"] + p["kw"]
    inside = p["pt"] == p["pl"] == 0 and below <= p["h"] and right <= p["w"]
    return (0, 1) if inside and p["sw"] <= 2 and p["kh"] * p["kw"] <= 16 else ()


def _pool_grad_halves(p: Params) -> tuple[int, ...]:
    """Where windows overlap, their shares are added up in the result."""
    return (0, 1, 2) if _pool_halves(p) and (p["kh"], p["kw"]) == (p["sh"], p["sw"]) else ()


def _banded_halves(p: Params) -> tuple[int, ...]:
    """Single elements are gathered."""
    return (0, 3) if p["inner"] > 1 else (3,)


def _conv_terms(p: Params) -> int:
    return _product(p, "ci", "kh", "kw") * (2 if p.get("pairs") else 1)


_DIRECT = KernelFacts(_conv_result, work=_conv_work, terms=_conv_terms, halves=_always(2))
#: The named kernels by name.
KERNEL_FACTS = {
    "gemm": KernelFacts(
        _gemm_result, watches=True, overwrites=True, work=_gemm_work, terms=lambda p: int(p["k"]), halves=_gemm_halves
    ),
    "conv2d": _DIRECT,
    "conv2d_channels": _DIRECT,
    "pair_channels": KernelFacts(halves=_always(0)),
    "conv2d_filter_grad": KernelFacts(work=_conv_work, terms=lambda p: _product(p, "n", "oh", "ow"), float64=True),
    "conv2d_winograd": KernelFacts(_conv_result, scratch=True, work=_winograd_work, halves=_always(0, 1, 3)),
    "conv2d_batch_winograd": KernelFacts(_conv_result, scratch=True, work=_winograd_work, halves=_batch_halves),
    "conv2d_filter_grad_winograd": KernelFacts(scratch=True, work=_winograd_work, halves=_always(0, 1, 3)),
    "conv2d_filter_grad_batch_winograd": KernelFacts(scratch=True, work=_winograd_work, halves=_batch_halves),
    "conv2d_line_winograd": KernelFacts(_conv_result, scratch=True, work=_winograd_work, halves=_always(0, 1, 3)),
    "conv2d_filter_grad_line_winograd": KernelFacts(scratch=True, work=_winograd_work, halves=_always(0, 1, 3)),
    "max_pool": KernelFacts(_max_pool_result, halves=_pool_halves),
    "max_pool_grad": KernelFacts(_max_pool_grad_result, halves=_pool_grad_halves),
    "avg_pool": KernelFacts(terms=lambda p: _product(p, "kh", "kw")),
    "avg_pool_grad": KernelFacts(),
    "softmax": KernelFacts(terms=_columns, halves=_softmax_halves),
    "log_softmax": KernelFacts(terms=_columns, halves=_always(0, 1)),
    "softmax_grad": KernelFacts(_rows_result, terms=_columns, halves=_always(0, 1, 2)),
    "log_softmax_grad": KernelFacts(_rows_result, terms=_columns, halves=_always(0, 1, 2)),
    "softmax_cross_entropy": KernelFacts(outputs=2, terms=_columns, halves=_cross_entropy_halves),
    "attention": KernelFacts(outputs=3, work=lambda p: _attention_work(p, 2)),
    "attention_grad": KernelFacts(outputs=3, work=lambda p: _attention_work(p, 5), parts=True),
    "argmax": KernelFacts(),
    "banded": KernelFacts(halves=_banded_halves),
    "border_pad": KernelFacts(),
    "border_pad_grad": KernelFacts(),
    "cumsum": KernelFacts(halves=_always(0, 1)),
    "cumprod": KernelFacts(halves=_always(0, 1)),
    "cumextremum": KernelFacts(outputs=2, halves=_always(0, 1)),
    "recurrence": KernelFacts(halves=_always(0, 1, 2)),
    "float_status": KernelFacts(exchanges=True),
    "in_bounds": KernelFacts(divisible=_indivisible, fails=True),
    "csr_product": KernelFacts(),
    "gather": KernelFacts(),
    "gather_grad": KernelFacts(divisible=_rows_are_long, terms=lambda p: int(p["count"]), float64=True),
    "scatter": KernelFacts(divisible=_rows_are_long, terms=_scattered, float64=True),
    "list_rows": KernelFacts(divisible=_indivisible),
    "add_rows": KernelFacts(halves=lambda p: (1, 2) if p["zeros"] else (0, 2, 3)),
    "gather_elements": KernelFacts(),
    "scatter_elements": KernelFacts(terms=_scattered, float64=True),
    "argsort": KernelFacts(scratch=True),
    "partial_argsort": KernelFacts(scratch=True),
    "first_places": KernelFacts(),
    "assignment": KernelFacts(outputs=2, scratch=True, divisible=_indivisible, work=_assignment_work, fails=True),
    "eigh": KernelFacts(outputs=2, scratch=True, divisible=_indivisible, work=_eigh_work),
    "pinv": KernelFacts(scratch=True, divisible=_indivisible, work=_pinv_work),
    "diagonal_form": KernelFacts(
        outputs=lambda p: 5 * int(p["parts"]), scratch=True, divisible=_indivisible, work=_form_work
    ),
    "exchanges": KernelFacts(scratch=True, divisible=_indivisible),
    "row_order": KernelFacts(divisible=_indivisible),
    "nonzero": KernelFacts(outputs=3, divisible=_indivisible),
    "search": KernelFacts(),
    "fourier": KernelFacts(outputs=_fourier_outputs, scratch=True, work=_fourier_work),
    "fourier_real": KernelFacts(outputs=_fourier_outputs, scratch=True, work=_fourier_work),
    "fourier_half": KernelFacts(scratch=True, work=_fourier_work),
    "fourier_rows": KernelFacts(outputs=_fourier_outputs, scratch=True, work=_fourier_rows_work),
    "fourier_rows_real": KernelFacts(outputs=_fourier_outputs, scratch=True, work=_fourier_rows_work),
    "fourier_rows_half": KernelFacts(scratch=True, work=_fourier_rows_work),
    "cholesky": KernelFacts(work=_factor_work),
    "lu": KernelFacts(outputs=3, scratch=True, work=_lu_work),
    "lu_solve": KernelFacts(scratch=True, work=_lu_solve_work),
    "triangular_solve": KernelFacts(work=_solve_work),
    "pack_factor": KernelFacts(),
    "pack_panels": KernelFacts(),
    "log": KernelFacts(divisible=_indivisible),
    "custom": KernelFacts(divisible=_indivisible, fails=True),
    "collective_start": KernelFacts(outputs=2, divisible=_indivisible),
    "collective_move": KernelFacts(divisible=_indivisible),
    "collective_wait": KernelFacts(divisible=_indivisible),
    "message_wait": KernelFacts(divisible=_indivisible, fails=True),
    "window_put": KernelFacts(),
    "window_open": KernelFacts(divisible=_indivisible),
    "window_fold": KernelFacts(work=_fold_work),
    "window_take": KernelFacts(),
    "window_close": KernelFacts(divisible=_indivisible),
}

#: The kernels that may end a step.
FAILING = frozenset(name for name, facts in KERNEL_FACTS.items() if facts.fails)
