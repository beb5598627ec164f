"""load_param_into_net: what fits of a checkpoint into a network, all of it or nothing, and the rest in a table."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.checkpoint.saving import check_new, random_states
from graphc.errors import ArgumentTypeError, CheckpointError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.validation.checks import boolean
from graphc.validation.unused_arguments import only

_OWNER = "load_param_into_net"
_logger = logging.getLogger("graphc")
#: Lines of a table before it is cut.
_ROWS = 10
#: Dtypes that are converted into each other, unless strict.
_KINDS = (
    {"float16", "bfloat16", "float32", "float64"},
    {"int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"},
    {"complex64", "complex128"},
)


def load_param_into_net(
    net: Cell, parameter_dict: Mapping[str, Any], strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """Write a checkpoint's tensors into the parameters of the same names (MindSpore: load_param_into_net).

    Returns the names of the net that the checkpoint lacks, and those of the checkpoint that were not loaded. Parameters
    of the net that are left are looked for under one prefix, as in MindSpore: "fc.weight" in "backbone.fc.weight".
    Random states of layers are loaded where the checkpoint has them: files of MindSpore have none, and leave them as
    they are. Shapes must be equal, up to axes of size 1 at the end of the checkpoint's; dtypes, too, except that floats
    are converted to floats, and integers to integers that can hold them. `strict_load`: no prefix, no conversion, and
    no name may be missing or left over. Texts are not loaded. remove_redundancy: False, as there is one process.

    Everything is checked first: after a CheckpointError, which lists what does not fit, the net holds what it held
    before. What is missing is logged, as a table, too. Raises ArgumentTypeError for other kinds of arguments.
    """
    if not isinstance(net, Cell):
        raise ArgumentTypeError(f"{_OWNER}: net must be a Cell, got {type(net).__name__}", loc=user_loc())
    boolean(_OWNER, "strict_load", strict_load)
    only(_OWNER, "remove_redundancy", remove_redundancy, False)
    tensors = _tensors(parameter_dict)
    states, params = random_states(net), _parameters(net)
    targets = {**states, **params}
    # Entry of the checkpoint by the parameter that it goes into.
    sources = {name: name for name in targets if name in tensors}
    missing = [n for n in params if n not in sources]
    if not strict_load and missing:
        sources |= under_prefixes(missing, params, tensors, set(sources))
        missing = [n for n in missing if n not in sources]
    used = set(sources.values())
    unexpected = [n for n in parameter_dict if n not in used]
    differing = [
        row for n, source in sources.items() if (row := difference(n, targets[n], tensors[source], strict_load))
    ]
    left = [n for n in unexpected if n in tensors]
    if differing or (strict_load and (missing or left)):
        raise _mismatch(differing, missing, left)
    for name, source in sources.items():
        targets[name].set_whole(require_array(tensors[source]).reshape(targets[name].whole_type.shape))
    if missing:
        _logger.warning(
            "%s: %d of %d parameters are not in the checkpoint and stay as they are; %d of its %d entries are left\n  %s",
            _OWNER,
            len(missing),
            len(params),
            len(unexpected),
            len(parameter_dict),
            "\n  ".join(_cut(_rows([], missing, unexpected))),
        )
    return missing, unexpected


def _tensors(given: Any) -> dict[str, Tensor]:
    """Those entries of a dict that are tensors; the others are texts."""
    known = isinstance(given, Mapping) and all(isinstance(name, str) for name in given)
    if not known or not all(isinstance(t, (Tensor, str, dict)) for t in given.values()):
        raise ArgumentTypeError(
            f"{_OWNER}: parameter_dict must be a dict of Tensors by name, as load_checkpoint returns it", loc=user_loc()
        )
    return {name: t for name, t in given.items() if isinstance(t, Tensor)}


def _parameters(net: Cell) -> dict[str, Parameter]:
    params: dict[str, Parameter] = {}
    for p in net.get_parameters():
        check_new(p.name, params)
        params[p.name] = p
    return params


def under_prefixes(
    missing: list[str], params: Mapping[str, Parameter], tensors: Mapping[str, Tensor], used: set[str]
) -> dict[str, str]:
    """Entries of other names that end in those missing, by these. What is under one prefix is taken if all of it fits; the
    prefix of the first name missing, in the first entry, comes first, as in MindSpore.
    """
    order = {name: place for place, name in enumerate(missing)}
    under: dict[str, list[tuple[int, str]]] = {}
    for entry in tensors:
        if entry not in used:
            for cut in range(1, len(entry)):
                if entry[cut:] in order:
                    under.setdefault(entry[:cut], []).append((order[entry[cut:]], entry))
    found: dict[str, str] = {}
    for prefix, places in sorted(under.items(), key=lambda item: min(item[1])[0]):
        taken = set(found.values())
        pairs = {missing[n]: e for n, e in places if missing[n] not in found and e not in taken}
        if pairs and not any(difference(n, params[n], tensors[e], strict=False) for n, e in pairs.items()):
            _logger.warning("%s: %d parameters are loaded from under the prefix %r", _OWNER, len(pairs), prefix)
            found |= pairs
    return found


def difference(name: str, param: Parameter, tensor: Tensor, strict: bool) -> str | None:
    """A row of the table if the two do not fit."""
    ours, theirs = param.whole_type, tensor.tensor_type
    rank = len(ours.shape)
    if theirs.shape[:rank] != ours.shape or any(n != 1 for n in theirs.shape[rank:]):
        return f"shape differs  {name}: the net has {ours}, the checkpoint {theirs}"
    if ours.dtype == theirs.dtype:
        return None
    if strict or not any({ours.dtype, theirs.dtype} <= kind for kind in _KINDS):
        return f"dtype differs  {name}: the net has {ours}, the checkpoint {theirs}"
    if not ours.is_inexact and theirs.size:
        array, limits = require_array(tensor), np.iinfo(ours.numpy)
        least, most = int(array.min()), int(array.max())
        if least < limits.min or most > limits.max:
            found = most if most > limits.max else least
            return f"dtype differs  {name}: the net has {ours}, the checkpoint {theirs} with {found} in it"
    return None


def _rows(differing: list[str], missing: list[str], unexpected: list[str]) -> list[str]:
    rows = [*differing]
    for names, others, word, whose in (
        (missing, unexpected, "missing        ", "the checkpoint has"),
        (unexpected, missing, "unexpected     ", "the net has"),
    ):
        # The search for near names is slow, and only the first rows are shown.
        for name in names[:_ROWS]:
            near = difflib.get_close_matches(name, others[:1000], n=1)
            rows.append(f"{word}{name}" + (f" ({whose} {near[0]})" if near else ""))
        rows += [f"{word}{name}" for name in names[_ROWS:]]
    return rows


def _cut(rows: list[str]) -> list[str]:
    return [*rows[:_ROWS], f"... and {len(rows) - _ROWS} more"] if len(rows) > _ROWS else rows


def _mismatch(differing: list[str], missing: list[str], unexpected: list[str]) -> CheckpointError:
    counts = [
        f"{len(differing)} of another shape or dtype" if differing else "",
        f"{len(missing)} missing" if missing else "",
        f"{len(unexpected)} unexpected" if unexpected else "",
    ]
    return CheckpointError(
        f"the checkpoint does not match the network: {', '.join(filter(None, counts))}; nothing was loaded",
        loc=user_loc(),
        details=_cut(_rows(differing, missing, unexpected)),
        help="build the network with the sizes it was saved with"
        if differing
        else "load without strict_load to accept this, or rename the entries of the dict",
    )
