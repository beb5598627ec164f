"""What is asked of a traced tensor, and has no answer before the step runs: which way to go, and its text."""

from __future__ import annotations

from graphc import dispatch
from graphc.errors import KindError, TraceError, TraceTypeError, user_loc
from graphc.errors.source_lines import source_line
from graphc.ir.types import TensorType
from graphc.validation.unused_arguments import once


def undecided(type: TensorType) -> TraceTypeError:
    """The error GC120 of a condition; `if` and `while` are converted where there is source code to convert."""
    loc = user_loc()
    sourceless = loc is not None and not source_line(loc.file, loc.line)
    lacks = ["there is no source of this code, from which `if` and `while` on tensors are made"] if sourceless else []
    return TraceTypeError(
        "the truth value of a traced tensor is not known while the Cell is compiled",
        code="GC120",
        loc=loc,
        details=[f"the tensor is {type}", *lacks],
        help="save the code to a file, and import or run that"
        if sourceless
        else "choose between values with ops.select(cond, x, y), or between computations with ops.cond(cond, f, g)",
    )


def unknown(asked: str, type: TensorType) -> TraceTypeError:
    """The error GC130 of a value that is asked for, as by `int()` or as the place of an item."""
    return TraceTypeError(
        f"{asked} on a traced tensor: its value is not known while the Cell is compiled",
        loc=user_loc(),
        details=[f"the tensor is {type}"],
        help="ops.stack(items)[k] reads an item of a tuple or list that only the run chooses"
        if asked == "an index"
        else "return it from construct and read it there, or keep the computation in graphc.ops",
    )


def outlived() -> TraceError:
    """The error GC132 of a traced tensor that is used outside of its trace."""
    return TraceError(
        "a traced tensor is used outside the trace that made it: its value exists only inside the compiled step",
        code="GC132",
        loc=user_loc(),
        help="return it from construct, or assign it to a Parameter",
    )


def no_value(shape: tuple[int | None, ...]) -> KindError:
    """The error of a description for `Cell.set_inputs` that is used as a tensor."""
    return KindError(
        f"a Tensor of shape {list(shape)} holds nothing: it is a description for set_inputs", loc=user_loc()
    )


def say_type() -> None:
    """Say once per line that text made in construct has the type of a tensor in it, not its value. GC130 where who asks for
    it is called again with a value.
    """
    active = dispatch.recorder.get()
    if active is not None and active.calls_again:
        raise TraceTypeError("the text of a tensor is asked for", code="GC130", loc=user_loc())
    if active is not None:
        once(
            "the text of a traced tensor is its type, not its value: text is made once, when the Cell is compiled",
            loc=user_loc(),
            help="print(x) with the tensor itself as an argument prints its value at every run",
        )
