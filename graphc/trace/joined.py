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

from typing import Any

from graphc.errors import user_loc
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, fixed_values, flatten
from graphc.trace.control import shape_of
from graphc.trace.recorder import GraphRecorder, Joined

_NUMBERS = (bool, int, float)


def apart(a: Any, b: Any) -> bool:
    """Whether two values, made of tensors, None and numbers, cannot become one value."""
    (leaves_a, one), (leaves_b, other) = flatten(a), flatten(b)
    if not (_plain(one) and _plain(other)):
        return False
    if any(isinstance(x, Joined) for x in (*leaves_a, *leaves_b)):
        return True
    if _is_number(a) and _is_number(b):
        return False
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return False
    return bool(shape_of(one) != shape_of(other))


def _plain(structure: Structure) -> bool:
    return all(x is None or isinstance(x, _NUMBERS) for x in fixed_values(structure))


def _is_number(x: Any) -> bool:
    """A Python number, or a tensor that one can become."""
    return isinstance(x, _NUMBERS) or (isinstance(x, Tensor) and not isinstance(x, Joined) and not x.shape)


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
    what = "the returned value" if name == "retval_" else repr(name)
    return f"{what} is {_kind(a)} if the condition holds and {_kind(b)} if not"


def advice(name: str, a: Any = None, b: Any = None) -> str:
    """How to avoid it."""
    if isinstance(a, list) and isinstance(b, list) and len(a) != len(b):
        return f"append to {name} on both ways, or write into a tensor of a fixed size: x[i] = value"
    if name == "retval_":
        return "return the same kind of value on both ways"
    return f"give {name} the same kind of value in both branches; ops.depend alone takes either"


def _kind(x: Any) -> str:
    if isinstance(x, Joined):
        return "one of several kinds"
    if isinstance(x, Tensor):
        return f"a tensor {x.tensor_type}"
    if isinstance(x, (tuple, list, dict)) and (flatten(x)[0] or not x):
        return f"a {type(x).__name__} of {len(x)}"
    return f"the Python value {x!r}"
