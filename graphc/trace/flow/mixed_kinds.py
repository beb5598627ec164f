"""Names that hold values of different kinds on the two ways through an `if`.

    if overflow:
        succ = False
    else:
        succ = self.optimizer(grads)        # A tuple.
    return F.depend(loss, succ)

What stands after the `if` for `succ` is a `Joined`: a token that is there when the way that was taken has been gone. `depend`
waits for the token; nothing else can be done with it.
"""

from __future__ import annotations

import re
from types import FunctionType
from typing import Any

from graphc.errors import user_loc
from graphc.ops.tensor.deferred import Stacked
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import fixed_values, flatten
from graphc.trace.flow.merging import NUMBERS
from graphc.trace.recorder import GraphRecorder
from graphc.trace.standins import Joined

#: The name under which malt keeps what a function returns; numbered in functions inside of others.
_RETURNED = re.compile(r"retval_(_\d+)?")


def is_returned(name: str) -> bool:
    """Whether a symbol is what a function returns."""
    return _RETURNED.fullmatch(name) is not None


def can_wait(x: Any) -> bool:
    """Whether a value is made of tensors, None and numbers, so that there is something to wait for."""
    return all(v is None or isinstance(v, NUMBERS) for v in fixed_values(flatten(x)[1]))


def tokens(first: GraphRecorder, a: Any, second: GraphRecorder, b: Any) -> tuple[Tensor, Tensor]:
    """What stands for either value in its branch: true when it has been computed."""
    return _token(first, a), _token(second, b)


def _token(branch: GraphRecorder, value: Any) -> Tensor:
    with branch.active():
        made: Tensor = branch.depend(Tensor(True), value)
    return made


def of(name: str, a: Any, b: Any, token: Tensor) -> Joined:
    """What a name holds after an `if` that leaves it a or b."""
    return Joined(token, message(name, a, b), advice(name, a, b), user_loc())


def message(name: str, a: Any, b: Any) -> str:
    """What is wrong with a name that is a on one way and b on the other."""
    what = "the returned value" if is_returned(name) else repr(name)
    kinds = [_kind(a), _kind(b)]
    if kinds[0] == kinds[1]:
        kinds = [f"{kind} {_items(x)}" for kind, x in zip(kinds, (a, b), strict=True)]
    return f"{what} is {kinds[0]} if the condition holds and {kinds[1]} if not"


def advice(name: str, a: Any = None, b: Any = None) -> str:
    """How to avoid it."""
    if isinstance(a, list) and isinstance(b, list) and len(a) != len(b):
        return f"append to {name} on both ways, or write into a tensor of a fixed size: x[i] = value"
    if isinstance(a, Sparse) and type(a) is type(b):
        return "the shape of a sparse tensor is a constant of a compiled step: x.to_dense() is a tensor on both ways"
    if is_returned(name):
        return "return the same kind of value on both ways"
    return f"give {name} the same kind of value in both branches; ops.depend alone takes either"


def _kind(x: Any) -> str:
    if isinstance(x, Joined):
        return "one of several kinds"
    if isinstance(x, Tensor):
        return f"a number {x.tensor_type}" if x.is_number else f"a tensor {x.tensor_type}"
    if isinstance(x, (tuple, list, dict)) and (flatten(x)[0] or not x):
        return f"a {type(x).__name__} of {len(x)}"
    if isinstance(x, Sparse):
        return f"a {type(x).__name__} {x.shape} of {x.values.tensor_type}"
    if isinstance(x, Stacked):
        return "a list of as many items as only the run tells"
    if isinstance(x, FunctionType):
        return f"the function {x.__name__}"
    return f"the Python value {x!r}"


def _items(x: Any) -> str:
    """The items of a container, in few words."""
    if isinstance(x, Tensor):
        return "?" if isinstance(x, Joined) else str(x.tensor_type)
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {_items(v)}" for k, v in list(x.items())[:6]) + "}"
    if isinstance(x, (tuple, list)):
        return "(" + ", ".join(map(_items, x[:6])) + ")"
    return repr(x)
