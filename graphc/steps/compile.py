"""graphc.compile: a step of a Cell for one signature, or for the sizes of buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from graphc import passes
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.steps.bucket_axes import open_axes, varying_of
from graphc.steps.buckets import BucketedStep
from graphc.steps.build import pipeline_of
from graphc.steps.compile_context import told
from graphc.steps.compiled_step import CompiledStep
from graphc.tracebacks import clean


@overload
def compile(
    cell: Cell,
    *inputs: Any,
    passes: Sequence[passes.Pass] = ...,
    buckets: None = None,
    dynamic: None = None,
    **kwargs: Any,
) -> CompiledStep: ...
@overload
def compile(
    cell: Cell,
    *inputs: Any,
    passes: Sequence[passes.Pass] = ...,
    buckets: Any = ...,
    dynamic: Any = ...,
    **kwargs: Any,
) -> BucketedStep: ...
def compile(
    cell: Cell,
    *inputs: Any,
    passes: Sequence[passes.Pass] = passes.PIPELINE,
    buckets: Any = None,
    dynamic: Any = None,
    **kwargs: Any,
) -> Any:
    """Compile a cell for inputs of these shapes and dtypes (tensors, arrays; Python values are constants).

    The inputs' values do not matter; nothing is run and no parameter is changed. `passes` run in place of
    `graphc.passes.PIPELINE`, verified, timed and dumped like those; they are the step's own: calling the cell itself
    compiles with PIPELINE.
    buckets: sizes, such as (16, 32, 64), of axis 0 of all tensors, or {input: sizes, or {axis: sizes}}, where None stands for
    the powers of two. What is returned then takes inputs of any size up to the largest, pads them to the next bucket, which is
    compiled when it is first needed, and cuts results; what would not be exact is refused (docs/shapes.md).
    dynamic: {input: axis, or axes} that have any size, short for the same buckets with None; not with buckets.
    Raises GraphcError subclasses with the user's line for what does not fit or cannot be traced, PaddingError among them; what
    a pass raises has a note that names it.
    """
    try:
        if not isinstance(cell, Cell):
            raise ArgumentTypeError(
                f"graphc.compile needs a Cell, got {type(cell).__name__}", loc=user_loc(), help=_instead_of(cell)
            )
        pipeline = pipeline_of(passes)
        if dynamic is not None:
            if buckets is not None:
                raise ArgumentValueError(
                    "graphc.compile: buckets and dynamic say the same, give one of them", loc=user_loc()
                )
            buckets = open_axes(dynamic)
        if buckets is not None:
            family = BucketedStep(cell, varying_of(buckets), pipeline)
            family.step(*inputs, **kwargs)
            return family
        with told():
            return CompiledStep(cell, inputs, kwargs, pipeline=pipeline)
    except BaseException as error:
        clean(error)
        raise


def _instead_of(given: Any) -> str | None:
    """What makes a step of what is no Cell."""
    if isinstance(given, type) and issubclass(given, Cell):
        return f"make one of the class: {given.__name__}(...)"
    return "@graphc.jit compiles a function when it is called" if callable(given) else None
