"""ModelCheckpoint: files of a training's state, at which steps, and which of them are kept."""

from __future__ import annotations

import inspect
import logging
import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.checkpoint.saving import alone, check_written, holds_parts
from graphc.errors import ArgumentTypeError, ArgumentValueError, KindError, user_loc
from graphc.errors.suggestions import nearest_argument, question
from graphc.files import make_directory
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.seed import get_rng_state
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import gather, rank
from graphc.train.callbacks.base import Callback
from graphc.train.callbacks.monitors import step_in_epoch
from graphc.train.rank_callbacks import found_by_all, several
from graphc.validation.unused_arguments import no_effect, only

_logger = logging.getLogger("graphc")
_FORMATS = ("ckpt", "safetensors")
_COUNTED = ("epoch_num", "step_num")
_DATA, _RANDOM = "dataset_state", "random_state"


class CheckpointConfig:
    """When ModelCheckpoint saves, and what it keeps (MindSpore: train.CheckpointConfig).

    save_checkpoint_steps: every so many steps; else save_checkpoint_seconds: at the first step's end after so many seconds.
    keep_checkpoint_max: of the files of this training so many are kept, with async_save one more; else
    keep_checkpoint_per_n_minutes: one for so many minutes; else one. Only the first of each pair that is not 0 or None counts.
    saved_network: a Cell in place of the training cell. append_info: a list of "epoch_num", "step_num" (counted on, from a
    dict's values of these names), two that are no names of MindSpore's, "dataset_state" (for load_state_dict of the data set)
    and "random_state" (for graphc.set_rng_state), and at most one dict of names with numbers, strings or Tensors, which go
    into the file. exception_save: also when the training is broken off, as PREFIX-EPOCH_STEP_breakpoint.ckpt.
    integrated_save, async_save, enc_key, enc_mode, crc_check and format ("ckpt" or "safetensors") are those of
    save_checkpoint. remove_redundancy is False: there is one process.
    Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = "ckpt",
        **kwargs: Any,
    ) -> None:
        owner = "CheckpointConfig"
        for name in kwargs:
            known = inspect.signature(CheckpointConfig).parameters
            raise ArgumentValueError(
                f"{owner} has no argument {name!r}", loc=user_loc(), help=question(nearest_argument(name, known))
            )
        steps = _count(owner, "save_checkpoint_steps", save_checkpoint_steps)
        seconds = _count(owner, "save_checkpoint_seconds", save_checkpoint_seconds)
        most = _count(owner, "keep_checkpoint_max", keep_checkpoint_max)
        minutes = _count(owner, "keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes)
        if not (steps or seconds or most or minutes):
            raise ArgumentValueError(f"{owner}: when to save and what to keep cannot all be None or 0", loc=user_loc())
        self.save_checkpoint_steps, self.save_checkpoint_seconds = steps, None if steps else seconds
        self.keep_checkpoint_max = most or (None if minutes else 1)
        self.keep_checkpoint_per_n_minutes = None if most else minutes
        self.integrated_save = checks.boolean(owner, "integrated_save", integrated_save)
        check_written(owner, async_save, crc_check)
        if not isinstance(enc_mode, str) or not isinstance(enc_key, (bytes, type(None))):
            raise KindError(f"{owner}: enc_key must be bytes or None, and enc_mode a string", loc=user_loc())
        self.async_save = async_save
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise checks.wrong_type(owner, "saved_network", "a Cell or None", saved_network)
        self.saved_network = saved_network
        self.append_dict = _infos(append_info) or None
        self.enc_key, self.enc_mode = enc_key, enc_mode
        self.exception_save = checks.boolean(owner, "exception_save", exception_save)
        self.crc_check = crc_check
        only(owner, "remove_redundancy", remove_redundancy, False)
        self.format = checks.one_of(owner, "format", format, _FORMATS)

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """When it saves and what it keeps, by name."""
        return {
            "save_checkpoint_steps": self.save_checkpoint_steps,
            "save_checkpoint_seconds": self.save_checkpoint_seconds,
            "keep_checkpoint_max": self.keep_checkpoint_max,
            "keep_checkpoint_per_n_minutes": self.keep_checkpoint_per_n_minutes,
            "saved_network": self.saved_network,
        }

    def write(self, network: Cell, path: Path, append: dict[str, Any]) -> None:
        """Save a network, or saved_network in its place."""
        save_checkpoint(
            self.saved_network or network,
            path,
            self.integrated_save,
            self.async_save,
            append or None,
            self.enc_key,
            self.enc_mode,
            format=self.format,
            crc_check=self.crc_check,
        )


def _count(owner: str, name: str, value: int | None) -> int | None:
    return None if value is None else checks.integer(owner, name, value, least=0)


def _infos(given: Any) -> dict[str, Any]:
    """What is appended to a file: names with their first values."""
    owner = "CheckpointConfig"
    if given is not None and not isinstance(given, list):
        raise checks.wrong_type(owner, "append_info", "a list or None", given)
    made: dict[str, Any] = {}
    dicts = [each for each in given or [] if isinstance(each, dict)]
    if len(dicts) > 1:
        raise ArgumentTypeError(f"{owner}: append_info may hold one dict, it holds {len(dicts)}", loc=user_loc())
    for each in given or []:
        if isinstance(each, str):
            name = checks.one_of(owner, "append_info", each, (*_COUNTED, _DATA, _RANDOM))
            made.setdefault(name, 0)
        elif not isinstance(each, dict):
            raise checks.wrong_type(owner, "append_info", "a list of strings and one dict", each)
    for name, value in (dicts or [{}])[0].items():
        if not isinstance(name, str) or not isinstance(value, (int, float, bool, str, Tensor)):
            raise ArgumentTypeError(
                f"{owner}: append_info maps names to numbers, strings or Tensors, got {name!r}: {type(value).__name__}",
                loc=user_loc(),
            )
        made[name] = value
    return made


def _where(state: dict[str, Any] | None) -> dict[str, Any]:
    if state is None:
        raise ArgumentValueError(
            f"ModelCheckpoint: append_info asks for {_DATA}, but the iterators of this data set have no state_dict()",
            loc=user_loc(),
        )
    return state


class ModelCheckpoint(Callback):
    """Saves the training cell, its optimizer and loss scale among it, while it trains (MindSpore: train.ModelCheckpoint).

    Files are DIRECTORY/PREFIX-EPOCH_STEP.ckpt (or .safetensors), STEP within the epoch, and one more at the end of the
    training. Where the directory holds files of the prefix already, the prefix becomes PREFIX_1, PREFIX_2, ... prefix and
    directory may be functions of the run's parameters; the file is then DIRECTORY/PREFIX.ckpt. A file appears whole or not
    at all, and an old one goes when the new one is there. In sink mode it saves at the first sink's end that is due.
    latest_ckpt_file_name: the last file. The graph is not saved. Raises ArgumentTypeError or ArgumentValueError.
    """

    in_fit_eval = False

    def __init__(
        self,
        prefix: str | Callable[[Any], str] = "CKP",
        directory: str | Callable[[Any], str] | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        owner = "ModelCheckpoint"
        self._prefix = prefix if callable(prefix) else _checked_prefix(prefix)
        if directory is not None and not callable(directory) and not isinstance(directory, (str, os.PathLike)):
            raise checks.wrong_type(owner, "directory", "a path, a function or None", directory)
        if config is not None and not isinstance(config, CheckpointConfig):
            raise checks.wrong_type(owner, "config", "a CheckpointConfig or None", config)
        self._directory = directory if callable(directory) else Path(os.curdir if directory is None else directory)
        self._config = config or CheckpointConfig()
        if isinstance(self._directory, Path):
            make_directory(self._directory)
            if isinstance(self._prefix, str):
                self._prefix = _free_prefix(self._directory, self._prefix)
        self._append = dict(self._config.append_dict or {})
        self._counted = {name: self._append.get(name, 0) for name in _COUNTED}
        self._files: list[tuple[Path, float]] = []
        self._latest = ""
        self._last_step, self._last_time = 0, time.time()

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the last file, "" before the first."""
        return self._latest

    def joint_work(self, network: Any) -> str | None:
        """Saving what all hold parts of."""
        if not holds_parts(self._config.saved_network or network):
            return None
        config = self._config
        return f"ModelCheckpoint: steps={config.save_checkpoint_steps}, seconds={config.save_checkpoint_seconds}"

    def begin(self, run_context: Any) -> None:
        """Count from the start of this training."""
        self._last_step, self._last_time = 0, time.time()

    def step_end(self, run_context: Any) -> None:
        """Save when it is due."""
        params = run_context.original_args()
        config = self._config
        if config.save_checkpoint_steps:
            due = params.cur_step_num >= self._last_step + config.save_checkpoint_steps
        else:
            due = bool(config.save_checkpoint_seconds) and time.time() - self._last_time > (
                config.save_checkpoint_seconds or 0
            )
            if holds_parts(config.saved_network or params.train_network):
                due = gather("time to save", due)[0]  # All save, or none: by the first one's clock.
        if due:
            self._save(params)

    def end(self, run_context: Any) -> None:
        """Save once more; after an error only with exception_save, in a file of its own."""
        params = run_context.original_args()
        if run_context.error is None:
            if params.cur_step_num != self._last_step:
                self._save(params)
        elif self._config.exception_save and params.cur_step_num:
            if holds_parts(self._config.saved_network or params.train_network):
                no_effect(
                    "ModelCheckpoint", "exception_save", "the other processes hold parts of the optimizer's state"
                )
            else:
                self._save(params, "_breakpoint")

    def _save(self, params: Any, mark: str = "") -> None:
        path = self._path(params, mark)
        for name in _COUNTED:
            if name in self._append:
                self._append[name] = self._counted[name] + params[f"cur_{name}"]
        if _DATA in self._append:
            self._append[_DATA] = _where(params.dataset_state())
        if _RANDOM in self._append:
            self._append[_RANDOM] = get_rng_state()
        # A training that is broken off has, in other processes, perhaps not been.
        with alone() if mark else nullcontext():
            self._config.write(params.train_network, path, self._append)
        self._latest = params.latest_ckpt_file = str(path)
        self._last_step = params.last_save_ckpt_step = params.cur_step_num
        self._last_time = time.time()
        if not mark:
            self._keep(path)

    def _path(self, params: Any, mark: str) -> Path:
        if callable(self._directory):
            directory = make_directory(Path(self._directory(params)))
        else:
            directory = self._directory
        if callable(self._prefix):
            name = _checked_prefix(self._prefix(params))
        else:
            name = f"{self._prefix}-{params.cur_epoch_num}_{step_in_epoch(params)}"
        return directory / f"{name}{mark}.{self._config.format}"

    def _keep(self, path: Path) -> None:
        """Add a new file, and remove those that are not to be kept."""
        now = time.time()
        most, minutes = self._config.keep_checkpoint_max, self._config.keep_checkpoint_per_n_minutes
        before = [each for each in self._files if each[0] != path]
        if most and self._config.async_save:
            most += 1  # The new file may not be there yet.
        if most:
            gone = before[: max(0, len(before) + 1 - most)]
        else:
            gone = [each for each in before if now - each[1] < 60 * (minutes or 0)][1:]
        for each in gone if not several() or rank() == 0 else ():
            try:
                each[0].unlink(missing_ok=True)
            except OSError as error:
                _logger.warning("ModelCheckpoint: %s cannot be removed: %s", each[0], error.strerror)
        self._files = [*(each for each in before if each not in gone), (path, now)]


def _checked_prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or "/" in prefix or not prefix:
        raise ArgumentValueError(
            f"ModelCheckpoint: prefix must be a string without '/', or a function that gives one, got {prefix!r}",
            loc=user_loc(),
        )
    return prefix


def _free_prefix(directory: Path, prefix: str) -> str:
    """The prefix, or with the next number where there are files of it."""
    taken = 0
    for file in directory.iterdir():
        if file.suffix.lstrip(".") in _FORMATS and not file.stem.endswith("_breakpoint"):
            head, _, tail = file.stem.rpartition("-")
            number = head.removeprefix(prefix).removeprefix("_")
            if tail.replace("_", "").isdigit() and head.startswith(prefix):
                if head == prefix:
                    taken = max(taken, 1)
                elif head[len(prefix)] == "_" and number.isdigit():
                    taken = max(taken, int(number) + 1)
    return f"{prefix}_{taken}" if taken else prefix


def restore(file: Path, network: Cell) -> None:
    """Load a network's state from a file, if there is one, and say so in the log. DisagreementError: see `found_by_all`."""
    if found_by_all(file, network):
        load_param_into_net(network, load_checkpoint(file))
        _logger.warning("the training goes on from %s", file)


class BackupAndRestore(Callback):
    """Keeps the state of every save_freq-th epoch in BACKUP_DIR/backup.ckpt, and starts a training from it where it is there
    (MindSpore: train.BackupAndRestore).

    save_freq: "epoch" or an int. delete_checkpoint: removes the file at the end of a training that was not broken off.
    Raises ArgumentTypeError or ArgumentValueError; CheckpointError for a file that does not fit.
    """

    in_fit_eval = False

    def __init__(self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True) -> None:
        super().__init__()
        owner = "BackupAndRestore"
        if not isinstance(backup_dir, (str, os.PathLike)):
            raise checks.wrong_type(owner, "backup_dir", "a path", backup_dir)
        self.save_freq = 1 if save_freq == "epoch" else checks.integer(owner, "save_freq", save_freq)
        self.delete_checkpoint = checks.boolean(owner, "delete_checkpoint", delete_checkpoint)
        self.backup_file = make_directory(Path(backup_dir)) / "backup.ckpt"

    def joint_work(self, network: Any) -> str | None:
        """Saving what all hold parts of, and loading it."""
        return f"BackupAndRestore: save_freq={self.save_freq}" if holds_parts(network) else None

    def on_train_begin(self, run_context: Any) -> None:
        """Go back to the state of the file."""
        restore(self.backup_file, run_context.original_args().train_network)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Save."""
        params = run_context.original_args()
        if params.cur_epoch_num % self.save_freq == 0:
            save_checkpoint(params.train_network, self.backup_file)

    def on_train_end(self, run_context: Any) -> None:
        """The file has done its duty."""
        if self.delete_checkpoint and run_context.error is None and (not several() or rank() == 0):
            self.backup_file.unlink(missing_ok=True)
