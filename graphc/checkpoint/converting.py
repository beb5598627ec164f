"""From one format to the other (MindSpore: ckpt_to_safetensors, safetensors_to_ckpt)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from graphc.checkpoint.loading import load_checkpoint
from graphc.checkpoint.saving import check_new, save_checkpoint
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.validation.unused_arguments import no_effect


def ckpt_to_safetensors(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """Write the entries of .ckpt files to .safetensors files of the same names (MindSpore: ckpt_to_safetensors).

    file_path: a file, or a directory whose directories "rank..." hold files. save_path: a directory for what is
    written; by default it is written beside. name_map: new names of entries by old ones. file_name_regex: only files
    whose names it is found in. processes_num: one is enough. Raises ArgumentValueError where there is no such file, and
    what load_checkpoint and save_checkpoint raise.
    """
    _convert(
        "ckpt_to_safetensors", "ckpt", "safetensors", file_path, save_path, name_map, file_name_regex, processes_num
    )


def safetensors_to_ckpt(
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None = None,
    name_map: Mapping[str, str] | None = None,
    file_name_regex: str | None = None,
    processes_num: int = 1,
) -> None:
    """The other way: .safetensors files to .ckpt files, as ckpt_to_safetensors (MindSpore: safetensors_to_ckpt)."""
    _convert(
        "safetensors_to_ckpt", "safetensors", "ckpt", file_path, save_path, name_map, file_name_regex, processes_num
    )


def _convert(
    owner: str,
    source: str,
    wanted: str,
    file_path: str | os.PathLike[str],
    save_path: str | os.PathLike[str] | None,
    name_map: Mapping[str, str] | None,
    file_name_regex: str | None,
    processes_num: int,
) -> None:
    if name_map is not None and not isinstance(name_map, Mapping):
        raise ArgumentTypeError(f"{owner}: name_map must be a dict, got {type(name_map).__name__}", loc=user_loc())
    if isinstance(processes_num, bool) or not isinstance(processes_num, int) or processes_num < 1:
        raise ArgumentValueError(f"{owner}: processes_num must be at least 1, got {processes_num!r}", loc=user_loc())
    if processes_num > 1:
        no_effect(owner, "processes_num", "files are converted one after the other")
    if save_path is not None and Path(save_path).suffix:
        raise ArgumentValueError(f"{owner}: save_path must be a directory, got {str(save_path)!r}", loc=user_loc())
    files = list(_files(owner, Path(file_path), source, file_name_regex))
    for file, folder in files:
        loaded = load_checkpoint(file, format=source)
        renamed: dict[str, object] = {}
        for name, value in loaded.items():
            new = name if name_map is None else name_map.get(name, name)
            check_new(new, renamed)
            renamed[new] = value
        target = Path(save_path) / folder if save_path is not None else file.parent
        save_checkpoint(renamed, target / f"{file.stem}.{wanted}", format=wanted)


def _files(owner: str, path: Path, source: str, regex: str | None) -> Iterator[tuple[Path, str]]:
    """The files to convert, and the directory below save_path that each belongs into."""
    try:
        matches = re.compile(regex or "").search
    except re.error as error:
        raise ArgumentValueError(f"{owner}: file_name_regex {regex!r} is none: {error}", loc=user_loc()) from None
    if path.is_file():
        found = [(path, "")] if path.suffix == f".{source}" and matches(path.name) else []
    else:
        found = [
            (file, folder.name)
            for folder in sorted(path.glob("rank*"))
            for file in sorted(folder.glob(f"*.{source}"))
            if matches(file.name)
        ]
    if not found:
        raise ArgumentValueError(
            f"{owner}: there is nothing to convert at {str(path)!r}",
            loc=user_loc(),
            help=f"name a .{source} file, or a directory with directories rank... of them",
        )
    yield from found
