"""What a wrong name may have meant: a name that is spelled nearly so, or what graphc calls a thing of another library's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, NoReturn

from graphc.errors import TraceAttributeError, printable, user_loc
from graphc.errors.unsupported import instead

#: Names of PyTorch's, TensorFlow's and NumPy's -> MindSpore's. Given only where the latter is known.
FOREIGN = {
    "Sequential": "SequentialCell",
    "Module": "Cell",
    "ModuleList": "CellList",
    "ModuleDict": "CellDict",
    "ConvTranspose1d": "Conv1dTranspose",
    "ConvTranspose2d": "Conv2dTranspose",
    "ConvTranspose3d": "Conv3dTranspose",
    "Hardswish": "HSwish",
    "Hardsigmoid": "HSigmoid",
    "LocalResponseNorm": "LRN",
    "BatchNorm": "BatchNorm2d",
    "MultiHeadAttention": "MultiheadAttention",
    "cat": "concat",
    "concatenate": "concat",
    "mm": "matmul",
    "dot": "matmul",
    "permute": "transpose",
    "unsqueeze": "expand_dims",
    "detach": "stop_gradient",
    "multiply": "mul",
    "subtract": "sub",
    "divide": "div",
    "power": "pow",
    "clip": "clamp",
    "where": "select",
    "numpy": "asnumpy",
    "forward": "construct",
    "parameters": "trainable_params",
    "train": "set_train",
    "eval": "set_train",
    "dim": "ndim",
    "manual_seed": "set_seed",
    "save": "save_checkpoint",
    "load": "load_checkpoint",
    "parameter": "Parameter",
    "trainable": "requires_grad",
}

#: What is written here for a name of PyTorch's or Keras' that has nothing like it.
HABITS = {
    "backward": "ops.value_and_grad(forward, None, net.trainable_params())(...) returns the value and its gradients",
    "zero_grad": "leave it out: gradients are what value_and_grad returns, and nothing adds them up",
    "half": "net.to_float(graphc.float16), or x.astype(graphc.float16)",
    "cuda": "leave it out: there is one device",
    "train": "net.set_train()",
    "eval": "net.set_train(False)",
    "detach": "ops.stop_gradient(x); outside of what is differentiated leave it out",
    "requires_grad_": "set p.requires_grad of each p in net.get_parameters()",
    "fit": "Model(net, loss, optimizer).fit(epochs, data)",
    "predict": "Model(net).predict(x), or net(x)",
    "no_grad": "leave it out: gradients are made where value_and_grad asks for them; ops.stop_gradient(x) leaves one out",
    "functional": "functions are in ops: ops.relu(x)",
    "optim": "optimizers are in nn: nn.Adam(net.trainable_params(), learning_rate=0.001)",
    "DataLoader": "dataset.GeneratorDataset(source, column_names).batch(n)",
}

#: What one argument is called in MindSpore and elsewhere.
_ARGUMENTS = (
    {"bias", "has_bias"},
    {"groups", "group"},
    {"lr", "learning_rate"},
    {"dim", "axis"},
    {"keepdim", "keepdims", "keep_dims"},
    {"eps", "epsilon"},
    {"in_features", "in_channels"},
    {"out_features", "out_channels"},
    {"num_embeddings", "vocab_size"},
    {"embedding_dim", "embedding_size"},
    {"negative_slope", "alpha"},
    {"p", "ord"},
    {"columns", "column_names"},
    {"num_workers", "num_parallel_workers"},
)


#: Where None came from, mostly.
NOTHING = "a construct or function without `return` gives None"


def as_operand(x: object) -> str | None:
    """How to come from something that is no operand to one."""
    if isinstance(x, (list, tuple)):
        numbers = all(isinstance(item, (bool, int, float, list, tuple)) for item in x)
        return (
            "make a tensor of it: Tensor(...)"
            if numbers
            else f"take one of its {len(x)} items, such as the first: x[0]"
        )
    return NOTHING if x is None else f"make a tensor of it: Tensor({x!r})" if isinstance(x, complex) else None


def distance(a: str, b: str, most: int) -> int:
    """How many letters are to be added, dropped, changed or swapped with their neighbours; `most` + 1 for more than that."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    older: list[int] = []
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        older, before = before, row
    return before[-1]


def nearest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that `name` may be a slip of, the best first; empty rather than what means something else.

    One slip in names of four to seven letters, two in longer ones, in shorter ones a letter that lacks; case, underscores and an
    s at the end count as nothing, other digits as another name. A name of another library's gives what it is called here.
    """
    names = [n for n in dict.fromkeys(known) if n != name]
    foreign = FOREIGN.get(name)
    if foreign in names:
        return [foreign]
    found = []
    for place, other in enumerate(names):
        far = min(_slips(a, b) for a in _forms(name) for b in _forms(other))
        if far <= 2 and not _other_digits(name, other):
            found.append((far, distance(name, other, len(name)), place, other))
    return [other for *_, other in sorted(found)[:count]]


def nearest_argument(name: str, known: Iterable[str]) -> list[str]:
    """The arguments that one of this name may be: what another library calls it, or a slip."""
    names = list(known)
    other = next((group for group in _ARGUMENTS if name in group), set())
    return [n for n in names if n in other] or nearest(name, names)


def _slips(a: str, b: str) -> int:
    """How many slips make one name of the other; 3 for more than names of their length may have."""
    short, long = sorted((a, b), key=len)
    allowed = 0 if len(short) <= 3 else 1 if len(short) <= 7 else 2
    # Of short names every letter counts, but one may lack; of very short ones the last.
    if len(long) == len(short) + 1 and (long.startswith(short) or len(short) == 3):
        allowed = max(allowed, 1)
    far = distance(a, b, allowed)
    return far if far <= allowed else 3


def _forms(name: str) -> tuple[str, ...]:
    plain = name.lower().replace("_", "")
    return (plain, plain[:-1]) if len(plain) > 3 and plain.endswith("s") and not plain.endswith("ss") else (plain,)


def _other_digits(a: str, b: str) -> bool:
    one, other = ("".join(filter(str.isdigit, x)) for x in (a, b))
    return bool(one and other) and one != other


def question(near: list[str], prefix: str = "") -> str | None:
    """ "did you mean a or b?", None for no names."""
    return f"did you mean {' or '.join(prefix + n for n in near)}?" if near else None


def _nothing(path: str) -> Any:
    return None


#: What stands for a name of MindSpore's that a module lacks, by its path: a module, or what graphc has elsewhere: `graphc.paths`.
member_of: Callable[[str], Any] = _nothing


def no_member(module: str, name: str, known: Iterable[str]) -> Any:
    """What a module's `__getattr__` makes of a name that it lacks: what `member_of` finds; or else it raises AttributeError
    GC140, or ImportError where it is `from module import name`.
    """
    if not name.startswith("__") and (found := member_of(f"{module}.{name}")) is not None:
        return found
    if imports_from(sys._getframe(2)) and not name.startswith("__"):
        near = instead(module, name) or question(nearest(name, (n for n in known if not n.startswith("_"))))
        raise ImportError(f"{module} has no {printable(name)!r}{'; ' + near if near else ''}", name=module)
    no_attribute(module, name, known, f"{module.rpartition('.')[2]}.")


def provider(path: str) -> ModuleType:
    """The module at a path, which has names for another one. An AttributeError of its own is raised as an ImportError: Python
    would take it for a name that the other one lacks, and at `from module import name` drop it.
    """
    try:
        return import_module(path)
    except AttributeError as error:
        raise ImportError(f"{path} cannot be imported: {error}", name=path) from error


def imports_from(frame: FrameType) -> bool:
    """Whether a frame is at `from module import name`.

    Only the instruction tells: Python drops an AttributeError there, and what it says of the nearest name with it, while
    hasattr() and getattr() need one.
    """
    return frame.f_code.co_code[frame.f_lasti] == _opcodes()["IMPORT_FROM"]


def _opcodes() -> dict[str, int]:
    import opcode  # Here, so that a start is quick: only mistakes need it.

    return opcode.opmap


def no_attribute(owner: str, name: str, known: Iterable[str], prefix: str = "", hint: str | None = None) -> NoReturn:
    """Raise AttributeError GC140 for an attribute that is not there, with a hint, what to use instead, or the nearest name."""
    if name.startswith("__"):
        raise AttributeError(name)  # Python and libraries look whether there is one.

    def help() -> str | None:
        near = nearest(name, (n for n in known if not n.startswith("_")))
        return hint or instead(owner, name) or HABITS.get(name) or question(near, prefix)

    raise TraceAttributeError(f"{owner} has no attribute {name!r}", loc=user_loc(), help=help)
