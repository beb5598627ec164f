"""Updates that processes share out: each one makes those of its part of a parameter, and holds that part's state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from graphc import processes
from graphc.context import ParallelMode, is_data_parallel, parallel_settings
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.tensor.parameter import Parameter
from graphc.processes import AxisCut, Cut

F = TypeVar("F", bound=Callable[..., Any])


def by_element(method: F) -> F:
    """Say that an update computes every element of a parameter and its state from the same elements, and from numbers without
    axes: it may be made of a part of them. It reads the parameter by `weight` and writes it by `write`.
    """
    method.by_element = True  # type: ignore[attr-defined]
    return method


def cuts(optimizer: Any, parameters: Sequence[Parameter]) -> tuple[Cut | None, ...]:
    """How each parameter's updates are shared out among the processes; None where all make the whole one.

    That is so without enable_parallel_optimizer and in a process alone, for parameters with `layerwise_parallel` or without
    `parallel_optimizer`, and for those of less than parallel_optimizer_threshold KiB. ArgumentValueError GC112 where the
    setting is on in a mode that is not data-parallel, or for an optimizer whose updates need whole parameters.
    """
    settings = parallel_settings()
    if settings.enable_parallel_optimizer:
        refuse_cut_layers(optimizer, "enable_parallel_optimizer=True", parameters)
    if not _is_by_element(type(optimizer)):
        refuse_cut_layers(optimizer, "an update that needs whole parameters", parameters)
    whole: tuple[Cut | None, ...] = (None,) * len(parameters)
    if not settings.enable_parallel_optimizer:
        return whole
    owner = type(optimizer).__name__
    if not is_data_parallel():
        raise ArgumentValueError(
            f"{owner}: enable_parallel_optimizer=True needs a data-parallel mode, parallel_mode is {settings.parallel_mode!r}",
            code="GC112",
            loc=user_loc(),
            help=f"set_auto_parallel_context(parallel_mode={ParallelMode.DATA_PARALLEL!r}, enable_parallel_optimizer=True)",
        )
    if not _is_by_element(type(optimizer)):
        raise ArgumentValueError(
            f"{owner}: enable_parallel_optimizer=True is not available, its updates need whole parameters",
            code="GC112",
            loc=user_loc(),
            help="an optimizer that treats every element alike: SGD, Momentum, Adam, AdamWeightDecay, ...",
        )
    count, rank = processes.size(), processes.rank()
    least = 1024 * settings.threshold
    return tuple(
        Cut(p.shape, count, rank)
        if count > 1 and p.parallel_optimizer and not p.layerwise_parallel and p.tensor_type.nbytes >= max(least, 1)
        else None
        for p in parameters
    )


def refuse_cut_layers(owner: Any, what: str, parameters: Sequence[Parameter]) -> None:
    """ArgumentValueError GC112 if one of them is a part of a layer that is cut over processes."""
    for p in parameters:
        if isinstance(p.cut, (AxisCut, Cut)):
            raise ArgumentValueError(
                f"{type(owner).__name__}: {what} is not available for {p.name!r}, of which each process holds a part",
                code="GC112",
                loc=user_loc(),
                help="an optimizer that treats every element alike: SGD, Momentum, Adam, AdamWeightDecay, ...",
            )


def _is_by_element(kind: Any) -> bool:
    """Whether the updates of a class of optimizers are. What is written outside graphc goes its own ways in `construct` and
    `step`.
    """
    own = all(getattr(kind, name).__module__.startswith("graphc.") for name in ("construct", "step"))
    return own and getattr(getattr(kind, kind.updates_by), "by_element", False)
