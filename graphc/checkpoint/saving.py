"""save_checkpoint: what is given, as arrays and texts by name, and these into a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from graphc import processes
from graphc.checkpoint import background, ckpt_file, safetensors_file
from graphc.checkpoint.entries import Array, to_text
from graphc.checkpoint.names import file_to_save
from graphc.context import is_data_parallel
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError, KindError, user_loc
from graphc.files import make_directory
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.validation.checks import boolean
from graphc.validation.unused_arguments import no_effect, only

_OWNER = "save_checkpoint"
_MODES = ("AES-GCM", "AES-CBC", "SM4-CBC")

Saved = Cell | Mapping[str, Any] | Iterable[Any]


def save_checkpoint(
    save_obj: Saved,
    ckpt_file_name: str | os.PathLike[str],
    integrated_save: bool = True,
    async_save: bool | str = False,
    append_dict: Mapping[str, Any] | None = None,
    enc_key: bytes | None = None,
    enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], object] | None = None,
    crc_check: bool = False,
    format: str = "ckpt",
    **kwargs: Any,
) -> Path:
    """Write a cell's parameters, or tensors by name, to a file (MindSpore: save_checkpoint). Returns its path.

    save_obj: a Cell, whose random states of layers are written, too, by the paths that they have; Parameters; dicts
    with "name" and "data"; a dict of tensors, arrays and texts by name. choice_func: called with each name, says
    whether to write it. append_dict: what else to write: numbers, texts, tensors, and dicts of JSON values.
    ckpt_file_name: "x.ckpt" is MindSpore's format, "x.safetensors" safetensors; any other name gets the suffix of
    `format`. crc_check: write a CRC-32. async_save: True, "thread" or "process" write a copy, made before this returns,
    in the background; an error is raised by the next save or load. integrated_save: every parameter is whole. Of the
    processes of a data-parallel training, all of which may call this, the first one writes; where they hold parts of what
    is saved (enable_parallel_optimizer), all of them must, and return when the file is there, but for async_save.

    The file appears complete or not at all (temporary file, fsync, rename); missing directories are made. It takes no memory
    unless async_save; what is saved should not be trained meanwhile. Raises ArgumentTypeError for another kind of object,
    ArgumentValueError GC112 for enc_key, GC141 where two entries have one name, and OSError, which names the file; where
    others wait for it, they raise CheckpointError.
    """
    target, format = file_to_save(_OWNER, ckpt_file_name, format)
    _check_options(integrated_save, async_save, enc_key, enc_mode, crc_check, kwargs)
    named = _chosen(save_obj, append_dict, choice_func)
    entries = _contents(named)
    if format == "ckpt" and not entries:
        raise ArgumentValueError(
            f"{_OWNER}: there is nothing to write; a .ckpt file holds at least one entry", loc=user_loc()
        )
    if format != "ckpt":
        for name, value in entries.items():
            if not isinstance(value, str) and value.dtype.name not in safetensors_file.DTYPES:
                raise ArgumentValueError(
                    f"{_OWNER}: {name!r} is {value.dtype}, which safetensors has no name for",
                    loc=user_loc(),
                    help="write a .ckpt file, or its parts: ops.view_as_real(x)",
                )
    write = ckpt_file.write if format == "ckpt" else safetensors_file.write

    def save() -> None:
        background.finish()
        make_directory(target.parent)
        if not async_save:
            write(target, entries, crc=crc_check)
            return
        if target.is_dir():
            raise ArgumentValueError(f"{str(target)!r} is a directory, a file is to be written there", loc=user_loc())
        copies = {name: value if isinstance(value, str) else value.copy() for name, value in entries.items()}
        background.start(target, lambda: write(target, copies, crc=crc_check))

    if any(isinstance(v, Parameter) and v.cut is not None for _, v in named):
        _by_first(target, save)
    elif not is_data_parallel() or processes.rank() == 0 or _alone.get():
        save()
    else:
        background.finish()
    return target


#: Whether this process writes, whichever it is.
_alone: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """Within it save_checkpoint writes in any process of a data-parallel training: the others may not be there any more."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def _by_first(target: Path, save: Callable[[], None]) -> None:
    """Save in the first process; all go on when that is done. All call it. What the first one raises is a CheckpointError in
    the others.
    """
    error: BaseException | None = None
    if processes.rank() == 0:
        try:
            save()
        except BaseException as caught:
            error = caught
    told = processes.gather("success in saving", None if error is None else f"{type(error).__name__}: {error}")[0]
    if error is not None:
        raise error
    if told is not None:
        raise CheckpointError(f"rank 0 could not write {str(target)!r}: {told}", loc=user_loc())


def async_ckpt_thread_status() -> bool:
    """Whether a checkpoint is being written in the background (MindSpore: async_ckpt_thread_status)."""
    return background.is_writing()


def _check_options(
    integrated_save: Any, async_save: Any, enc_key: Any, enc_mode: Any, crc_check: Any, others: dict[str, Any]
) -> None:
    boolean(_OWNER, "integrated_save", integrated_save)
    check_written(_OWNER, async_save, crc_check)
    if async_save == "process":
        no_effect(_OWNER, "async_save='process'", "a thread writes, as with 'thread'")
    refuse_keys(_OWNER, "enc_key", enc_key, "enc_mode", enc_mode)
    known = {"incremental": (False,), "global_step_num": None, "remove_redundancy": (None, False)}
    for name, value in others.items():
        if name not in known:
            raise ArgumentTypeError(f"{_OWNER} takes no argument {name!r}", loc=user_loc())
        if name == "global_step_num":
            no_effect(_OWNER, name, "it is for a service that keeps checkpoints")
        else:
            only(_OWNER, name, value, *(known[name] or ()))


def check_written(owner: str, async_save: Any, crc_check: Any) -> None:
    """How a file is written: ArgumentTypeError, ArgumentValueError or KindError where that is not known."""
    if not isinstance(async_save, (bool, str)):
        raise ArgumentTypeError(
            f"{owner}: async_save must be a bool, 'thread' or 'process', got {async_save!r}", loc=user_loc()
        )
    if isinstance(async_save, str) and async_save not in ("thread", "process"):
        raise ArgumentValueError(
            f"{owner}: async_save must be a bool, 'thread' or 'process', got {async_save!r}", loc=user_loc()
        )
    compares(owner, crc_check)


def compares(owner: str, crc_check: Any) -> None:
    """KindError for a crc_check that is no bool."""
    if not isinstance(crc_check, bool):
        raise KindError(f"{owner}: crc_check must be a bool, got {type(crc_check).__name__}", loc=user_loc())


def refuse_keys(owner: str, key_name: str, key: Any, mode_name: str, mode: Any) -> None:
    """Refuse encryption; a mode without a key says nothing."""
    only(owner, key_name, key, None)
    only(owner, mode_name, mode, *_MODES)


# ---- what is saved


def _chosen(save_obj: Any, append_dict: Any, choice_func: Callable[[str], object] | None) -> list[tuple[Any, Any]]:
    """What is to be written, by name."""
    if choice_func is not None and not callable(choice_func):
        raise ArgumentTypeError(f"{_OWNER}: choice_func must be a function of a name", loc=user_loc())
    named = [(n, v) for n, v in _named(save_obj) if choice_func is None or choice_func(n)]
    return [*named, *_appended(append_dict)]


def _contents(named: Iterable[tuple[Any, Any]]) -> dict[str, Array | str]:
    """Arrays, contiguous, and texts by name, in the order in which they came."""
    entries: dict[str, Array | str] = {}
    for name, value in named:
        if not isinstance(name, str) or not isinstance(value, (Tensor, str, dict, np.ndarray)):
            raise ArgumentTypeError(
                f"a checkpoint holds tensors and texts with names, not {type(value).__name__} under {name!r}",
                loc=user_loc(),
            )
        check_new(name, entries)
        _check_name(name)
        if isinstance(value, (str, dict)):
            entries[name] = _text(name, value)
        else:
            if isinstance(value, Parameter) and value.cut is not None:
                array = value.whole()
            else:
                array = require_array(value if isinstance(value, Tensor) else Tensor(value))
            entries[name] = np.ascontiguousarray(array).reshape(array.shape)
    return entries


def check_new(name: str, taken: Iterable[str]) -> None:
    """ArgumentValueError (GC141) for a name that another entry has."""
    if name in taken:
        raise ArgumentValueError(
            f"two parameters are named {name!r}: a checkpoint cannot tell them apart",
            code="GC141",
            loc=user_loc(),
            help="give each its own name; net.update_parameters_name() names what a cell holds by its paths",
        )


def _check_name(name: str) -> None:
    """ArgumentValueError for a name that no file can hold."""
    if name == "__metadata__" or any("\ud800" <= c <= "\udfff" for c in name):
        raise ArgumentValueError(f"a checkpoint cannot hold a tensor named {name!r}", loc=user_loc())


def _text(name: str, value: str | dict[str, Any]) -> str:
    try:
        return to_text(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"{_OWNER}: {name!r} cannot be written as JSON: {error}", loc=user_loc()) from None


def _named(save_obj: object) -> list[tuple[Any, Any]]:
    if isinstance(save_obj, Mapping):
        return list(save_obj.items())
    if isinstance(save_obj, Cell):
        return [*((p.name, p) for p in save_obj.get_parameters()), *random_states(save_obj).items()]
    if isinstance(save_obj, (str, bytes, Tensor)) or not isinstance(save_obj, Iterable):
        raise ArgumentTypeError(
            f"{_OWNER} takes a Cell, a dict of tensors or Parameters, got {type(save_obj).__name__}", loc=user_loc()
        )
    items = list(save_obj)
    if items and all(isinstance(item, dict) and item.keys() >= {"name", "data"} for item in items):
        return [(item["name"], item["data"]) for item in items]
    return [(getattr(item, "name", None), item) for item in items]


def holds_parts(net: Cell) -> bool:
    """Whether parameters of a cell are parts, whose rest other processes have."""
    return any(p.cut is not None for p in net.get_parameters())


def random_states(net: Cell) -> dict[str, Parameter]:
    """The random states of layers by path; they are not among the parameters."""
    return {
        f"{path}.{name}" if path else name: value
        for path, cell in net.cells_and_names()
        for name, value in vars(cell).items()
        if isinstance(value, Parameter) and name not in cell._params
    }


def _appended(append_dict: Any) -> list[tuple[str, Any]]:
    if append_dict is None:
        return []
    if not isinstance(append_dict, Mapping):
        raise ArgumentTypeError(
            f"{_OWNER}: append_dict must be a dict, got {type(append_dict).__name__}", loc=user_loc()
        )
    for name, value in append_dict.items():
        if not isinstance(name, str) or not isinstance(value, (bool, int, float, str, Tensor, dict, np.generic)):
            raise ArgumentTypeError(
                f"{_OWNER}: append_dict holds numbers, texts, tensors and dicts by name, not {type(value).__name__} under"
                f" {name!r}",
                loc=user_loc(),
            )
    return [(n, v if isinstance(v, (str, Tensor, dict)) else Tensor(v)) for n, v in append_dict.items()]
