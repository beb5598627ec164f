"""SummaryRecord: numbers that a script writes down itself, in the form that `graphc report` reads."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from graphc.errors import ArgumentValueError, user_loc
from graphc.files import make_directory
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.train.callbacks.summary import SCHEMA, numbered, write_line
from graphc.validation.unused_arguments import no_effect, only, refusal

_logger = logging.getLogger("graphc")
_OWNER = "SummaryRecord"
#: What else MindSpore writes down.
_REFUSED = (
    "tensor", "image", "histogram", "train_lineage", "eval_lineage", "dataset_graph", "custom_lineage_data", "graph",
    "LANDSCAPE",
)  # fmt: skip


class SummaryRecord:
    """Writes numbers to LOG_DIR/<file_prefix><file_suffix>.jsonl, then ...-2.jsonl, as JSON lines (MindSpore: SummaryRecord).

    A line per `record`, {"kind": "eval", "step": ..., "metrics": {name: number}}; docs/report.md describes them. A `with`
    block closes the file. max_file_size: bytes after which nothing is written any more, which is said once. raise_exception:
    whether a file that cannot be written raises OSError; it is logged otherwise. num_process has no effect on what is
    written; network and export_options are None. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: None = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: None = None,
    ) -> None:
        if not isinstance(log_dir, (str, os.PathLike)):
            raise checks.wrong_type(_OWNER, "log_dir", "a path", log_dir)
        for name, value in (("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            if not isinstance(value, str):
                raise checks.wrong_type(_OWNER, name, "a string", value)
        checks.integer(_OWNER, "num_process", num_process)
        only(_OWNER, "network", network, None)
        only(_OWNER, "export_options", export_options, None)
        self._most = None if max_file_size is None else checks.integer(_OWNER, "max_file_size", max_file_size)
        self._raises = checks.boolean(_OWNER, "raise_exception", raise_exception)
        self._file, path = numbered(make_directory(Path(log_dir)), f"{file_prefix}{file_suffix}")
        self._path = path
        self._pending: dict[str, float] = {}
        self._full = False
        write_line(self._file, {"kind": "run", "schema": SCHEMA, "time": time.time()})

    def __enter__(self) -> Self:
        if self._file.closed:
            raise ArgumentValueError("SummaryRecord: it has been closed", loc=user_loc(), help="make a new one")
        return self

    def __exit__(self, *ended: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return str(self._path)

    def set_mode(self, mode: str) -> None:
        """ "train" or "eval": both write the same."""
        checks.one_of(_OWNER, "mode", mode, ("train", "eval"))

    def add_value(self, plugin: str, name: str, value: Tensor) -> None:
        """Keep a number for the next `record`, in place of one of that name. plugin: "scalar"; value: a tensor of one element."""
        if plugin != "scalar":
            raise (
                refusal(_OWNER, "plugin", plugin, "scalar")
                if plugin in _REFUSED
                else checks.wrong_value(_OWNER, "plugin", "'scalar'", plugin)
            )
        if not isinstance(name, str) or not name:
            raise ArgumentValueError(f"SummaryRecord: name must be a non-empty string, got {name!r}", loc=user_loc())
        if not isinstance(value, Tensor):
            raise checks.wrong_type(_OWNER, "value", "a Tensor", value)
        if value.size != 1:
            raise ArgumentValueError(
                f"SummaryRecord: the scalar {name!r} must have one element, it is {value.tensor_type}", loc=user_loc()
            )
        self._pending[name] = float(value.asnumpy().reshape(()))

    def record(
        self, step: int, train_network: Cell | None = None, plugin_filter: Callable[[str], bool] | None = None
    ) -> bool:
        """Write what was added, as of that step; whether it was written: not to a closed file. plugin_filter("scalar") says
        whether to; what was added is gone either way.
        """
        if not checks.is_int(step):
            raise checks.wrong_type(_OWNER, "step", "an int", step)
        if train_network is not None:
            if not isinstance(train_network, Cell):
                raise checks.wrong_type(_OWNER, "train_network", "a Cell or None", train_network)
            no_effect(_OWNER, "train_network", "graphs are not among what is recorded")
        if self._file.closed:
            _logger.error("SummaryRecord: %s is closed, nothing more is recorded", self._path)
            return False
        values, self._pending = self._pending, {}
        if not values or (plugin_filter is not None and not plugin_filter("scalar")) or self._is_full():
            return True
        try:
            write_line(self._file, {"kind": "eval", "step": step, "metrics": values})
        except OSError as error:
            if self._raises:
                raise
            _logger.error("SummaryRecord: %s cannot be written: %s", self._path, error)
            return False
        return True

    def _is_full(self) -> bool:
        if self._most is not None and not self._full and self._file.tell() > self._most:
            self._full = True
            _logger.warning("SummaryRecord: %s has reached max_file_size, it ends here", self._path)
        return self._full

    def flush(self) -> None:
        """Nothing is left to write: each line is written as a whole, at once."""
        if self._file.closed:
            _logger.error("SummaryRecord: %s is closed", self._path)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


__all__ = ["SummaryRecord"]
