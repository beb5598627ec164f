"""Names and layouts of torch's state dicts, as those of graphc's layers: a table of rules for each family of models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array


@dataclass(frozen=True, slots=True)
class Rule:
    """What becomes of the entries whose whole names match `pattern`: they are called `name` (a template as of re.sub),
    or left out where it is None. `axes`: only tensors with so many axes. `transpose`: swap two axes.
    """

    pattern: str
    name: str | None
    axes: int | None = None
    transpose: bool = False


#: Buffers that count or mask and are no parameters here.
_BUFFERS = (Rule(r"(.*\.)?num_batches_tracked", None),)
_BATCH_NORM = (
    Rule(r"(.*\.)?running_mean", r"\1moving_mean"),
    Rule(r"(.*\.)?running_var", r"\1moving_variance"),
    Rule(r"(.*(?:bn\d*|norm\d*|downsample\.1))\.weight", r"\1.gamma", axes=1),
    Rule(r"(.*(?:bn\d*|norm\d*|downsample\.1))\.bias", r"\1.beta", axes=1),
)
#: The names of a family -> its rules; the first that matches holds, and names that none matches stay.
TORCH_NAMES: dict[str, tuple[Rule, ...]] = {
    "lenet": _BUFFERS + _BATCH_NORM,
    "resnet": _BUFFERS + _BATCH_NORM,
    "gpt2": (
        # Masks, and the output layer, which is the table of tokens once more.
        Rule(r"(?:transformer\.)?h\.\d+\.attn\.(?:masked_)?bias", None),
        Rule(r"lm_head\.weight", None),
        # Layers of the kind Conv1D keep (in, out); Dense keeps (out, in).
        Rule(r"(?:transformer\.)?(h\.\d+\.(?:attn|mlp)\.c_\w+)\.weight", r"\1.weight", axes=2, transpose=True),
        Rule(r"(?:transformer\.)?(wte|wpe)\.weight", r"\1.embedding_table", axes=2),
        Rule(r"(?:transformer\.)?((?:h\.\d+\.)?ln_\w+)\.weight", r"\1.gamma", axes=1),
        Rule(r"(?:transformer\.)?((?:h\.\d+\.)?ln_\w+)\.bias", r"\1.beta", axes=1),
        Rule(r"transformer\.(.+)", r"\1"),
    ),
}


def rename_torch(parameters: Mapping[str, Tensor], names: str | Sequence[Rule]) -> dict[str, Parameter]:
    """The entries of a torch state dict, as load_checkpoint reads it from a safetensors file, under graphc's names.

    names: "lenet", "resnet" or "gpt2" of TORCH_NAMES, or rules: the first that matches an entry's name and axes holds;
    entries that none matches stay as they are. Data are copied. Raises ArgumentValueError for an unknown family, and
    where two entries would have one name; ArgumentTypeError for entries that are no tensors.
    """
    if isinstance(names, str) and names not in TORCH_NAMES:
        known = ", ".join(map(repr, TORCH_NAMES))
        raise ArgumentValueError(f"rename_torch: names must be {known} or rules, got {names!r}", loc=user_loc())
    rules = TORCH_NAMES[names] if isinstance(names, str) else tuple(names)
    if not all(isinstance(rule, Rule) for rule in rules):
        raise ArgumentTypeError("rename_torch: names must be a family or Rules", loc=user_loc())
    renamed: dict[str, Parameter] = {}
    origin: dict[str, str] = {}
    for old, tensor in parameters.items():
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(f"rename_torch: {old!r} is no tensor but {type(tensor).__name__}", loc=user_loc())
        try:
            found = _apply(rules, old, tensor)
        except (re.error, np.exceptions.AxisError) as error:
            raise ArgumentValueError(
                f"rename_torch: a rule cannot be applied to {old!r}: {error}", loc=user_loc()
            ) from None
        if found is None:
            continue
        new, param = found
        if new in renamed:
            raise ArgumentValueError(
                f"rename_torch: {origin[new]!r} and {old!r} would both be {new!r}", code="GC141", loc=user_loc()
            )
        renamed[new], origin[new] = param, old
    return renamed


def _apply(rules: Sequence[Rule], old: str, tensor: Tensor) -> tuple[str, Parameter] | None:
    for rule in rules:
        match = re.fullmatch(rule.pattern, old)
        if match is None or (rule.axes is not None and rule.axes != tensor.ndim):
            continue
        if rule.name is None:
            return None
        array = require_array(tensor)
        new = match.expand(rule.name)
        return new, Parameter(np.swapaxes(array, -1, -2) if rule.transpose else array, name=new)
    return old, Parameter(require_array(tensor), name=old)
