"""load_checkpoint: the entries of a file, those of them that are wanted, as Parameters and texts by name."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

import numpy as np

from graphc.checkpoint import background, ckpt_file, safetensors_file
from graphc.checkpoint.entries import (
    DamagedError,
    Entry,
    UnsupportedError,
    check_dtype,
    check_memory,
    from_text,
    read_into,
)
from graphc.checkpoint.into_net import load_param_into_net
from graphc.checkpoint.names import check_format, file_to_load
from graphc.checkpoint.saving import compares, refuse_keys
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError, user_loc
from graphc.ir.types import numpy_dtype
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.validation.unused_arguments import only

_OWNER = "load_checkpoint"
_logger = logging.getLogger("graphc")
#: How files of torch.save and pickle begin.
_PICKLED = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_NOT_READ = (
    "torch.save and pickle write such files: read it there, save its tensors as safetensors, see docs/checkpoints.md"
)
Prefixes = str | list[str] | tuple[str, ...] | None


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str] | io.BytesIO,
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Prefixes = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Prefixes = None,
    choice_func: Callable[[str], object] | None = None,
    crc_check: bool = False,
    remove_redundancy: bool = False,
    format: str = "ckpt",
) -> dict[str, Any]:
    """The entries of a checkpoint by name (MindSpore: load_checkpoint): tensors as Parameters of these names, texts as strings,
    and what was appended as a dict as a dict.

    ckpt_file_name: "x.ckpt" is MindSpore's format, "x.safetensors" safetensors; for other names see save_checkpoint; or
    a BytesIO of the safetensors format. net: what to load into at once, with strict_load, as load_param_into_net does.
    specify_prefix, filter_prefix: beginnings of the names wanted, and of those not wanted; without them choice_func
    says of each name whether it is. crc_check: compare the CRC-32 that the file may have; that it has none is logged.
    remove_redundancy: False, as there is one process.

    Raises CheckpointError if the file is missing, damaged, encrypted, cut off, does not fit into memory, or an entry
    that is wanted has a dtype that graphc has not; then nothing has been loaded. ArgumentTypeError, ArgumentValueError
    for wrong arguments, or where none of the entries are wanted.
    """
    refuse_keys(_OWNER, "dec_key", dec_key, "dec_mode", dec_mode)
    only(_OWNER, "remove_redundancy", remove_redundancy, False)
    compares(_OWNER, crc_check)
    wanted = _choice(specify_prefix, filter_prefix, choice_func)
    background.finish()
    shown = "of a BytesIO" if isinstance(ckpt_file_name, io.BytesIO) else repr(str(ckpt_file_name))
    loaded = _load(ckpt_file_name, shown, format, wanted, crc_check)
    if net is not None:
        load_param_into_net(net, loaded, strict_load)
    return loaded


class LoadedLater:
    """What load_checkpoint_async returns."""

    def __init__(self, loading: Future[dict[str, Any]]) -> None:
        self._loading = loading

    def result(self) -> dict[str, Any]:
        """What load_checkpoint returns, once it has; its errors are raised here."""
        return self._loading.result()


def load_checkpoint_async(
    ckpt_file_name: str | os.PathLike[str],
    net: Cell | None = None,
    strict_load: bool = False,
    filter_prefix: Prefixes = None,
    dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM",
    specify_prefix: Prefixes = None,
    choice_func: Callable[[str], object] | None = None,
) -> LoadedLater:
    """load_checkpoint in a thread (MindSpore: load_checkpoint_async); `result()` of what this returns waits for it."""
    executor = ThreadPoolExecutor(1)
    future = executor.submit(
        load_checkpoint, ckpt_file_name, net, strict_load, filter_prefix, dec_key, dec_mode, specify_prefix, choice_func
    )  # fmt: skip
    executor.shutdown(wait=False)
    return LoadedLater(future)


def _load(
    name: Any, shown: str, format: str, wanted: Callable[[str], object] | None, crc_check: bool
) -> dict[str, Any]:
    kind, begin = "checkpoint", b""
    try:
        opened, kind = _open(name, format)
        with opened as file:
            begin = file.read(4)
            file.seek(0)
            entries, crc, right = _scan(file, kind, crc_check)
            if not right:
                raise DamagedError("its contents do not have the CRC that it gives")
            if crc_check and crc is None:
                _logger.warning("checkpoint %s has no CRC to be compared", shown)
            chosen = _chosen(entries, wanted, shown)
            return {e.name: _read(file, e) for e in chosen}
    except (OSError, UnsupportedError, DamagedError, MemoryError) as error:
        raise _explained(error, shown, kind, begin) from None


def _scan(file: IO[bytes], kind: str, crc_check: bool) -> tuple[list[Entry], int | None, bool]:
    """The entries, the CRC if there is one, and whether it is right where that is asked."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if kind == "ckpt":
        entries, crc = ckpt_file.scan(file, size)
        return entries, crc, not crc_check or crc is None or ckpt_file.check_crc(file, size, crc)
    entries, crc = safetensors_file.scan(file, size)
    return entries, crc, not crc_check or crc is None or safetensors_file.check_crc(file, entries, crc)


def _chosen(entries: list[Entry], wanted: Callable[[str], object] | None, shown: str) -> list[Entry]:
    """Those that are wanted; all of them can be held."""
    chosen = [e for e in entries if wanted is None or wanted(e.name)]
    if entries and not chosen:
        raise ArgumentValueError(
            f"checkpoint {shown}: none of its {len(entries)} entries are wanted",
            loc=user_loc(),
            details=[", ".join(e.name for e in entries[:4]) + (", ..." if len(entries) > 4 else "")],
            help="look at filter_prefix, specify_prefix or choice_func",
        )
    for entry in chosen:
        check_dtype(entry)
    check_memory(chosen)
    return chosen


def _read(file: IO[bytes], entry: Entry) -> Any:
    if entry.text is not None:
        return from_text(entry.text)
    empty = np.broadcast_to(np.zeros((), numpy_dtype(entry.dtype)), entry.shape)
    param = Parameter(empty, name=entry.name or None)
    read_into(file, entry, param.storage)
    return param


def _open(name: Any, format: str) -> tuple[AbstractContextManager[IO[bytes]], str]:
    """The file, to be closed if it was opened here, and its format."""
    if not isinstance(name, io.BytesIO):
        path, kind = file_to_load(_OWNER, name, format)
        return open(path, "rb"), kind
    check_format(_OWNER, format)
    if format != "safetensors":
        raise ArgumentTypeError(f"{_OWNER}: a BytesIO holds format='safetensors'", loc=user_loc())
    return nullcontext(name), format


def _explained(error: Exception, shown: str, kind: str, begin: bytes) -> CheckpointError:
    """What is wrong with the file, which begins so, to its reader."""
    if isinstance(error, OSError):
        return CheckpointError(f"checkpoint {shown} cannot be read: {error.strerror}", loc=user_loc())
    if isinstance(error, MemoryError):
        return CheckpointError(f"checkpoint {shown} does not fit into memory: {error}", loc=user_loc())
    if isinstance(error, UnsupportedError):
        return CheckpointError(f"checkpoint {shown}: {error}", loc=user_loc(), help=error.help)
    return CheckpointError(
        f"checkpoint {shown} is damaged or no {kind} file: {error}",
        loc=user_loc(),
        help=_NOT_READ if begin.startswith(_PICKLED) else None,
    )


def _choice(specify: Any, leave_out: Any, choice_func: Any) -> Callable[[str], object] | None:
    """The function that says of a name whether it is wanted; None for all."""
    if choice_func is not None and not callable(choice_func):
        raise ArgumentTypeError(f"{_OWNER}: choice_func must be a function of a name", loc=user_loc())
    taken, left = _prefixes("specify_prefix", specify), _prefixes("filter_prefix", leave_out)
    if not taken and not left:
        return choice_func  # type: ignore[no-any-return]
    if choice_func is not None:
        _logger.warning("%s: choice_func is not asked where prefixes are given", _OWNER)
    return lambda name: (not taken or name.startswith(taken)) and not (left and name.startswith(left))


def _prefixes(name: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    found: Iterable[Any] = (
        (given,) if isinstance(given, str) else given if isinstance(given, (list, tuple)) else (None,)
    )
    made = tuple(found)
    if not all(isinstance(p, str) for p in made):
        raise ArgumentTypeError(f"{_OWNER}: {name} must be a str or a list of them, got {given!r}", loc=user_loc())
    if not made or "" in made:
        raise ArgumentValueError(f"{_OWNER}: {name}={given!r} names no beginning", loc=user_loc())
    return made
