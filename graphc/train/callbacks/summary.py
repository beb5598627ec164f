"""SummaryCollector: what a run did, as one JSON object per line, for `graphc report` and whoever reads JSON."""

from __future__ import annotations

import json
import logging
import math
import os
import resource
import sys
import time
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphc import processes
from graphc.errors import ArgumentTypeError, user_loc
from graphc.files import make_directory
from graphc.nn import checks
from graphc.nn.optim import Optimizer
from graphc.nn.optim.rates import RateList
from graphc.nn.rates.schedules import LearningRateSchedule
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.train.callbacks.base import Callback
from graphc.train.callbacks.monitors import step_in_epoch
from graphc.train.outputs import mean_loss, overflow_of, scale_of
from graphc.validation.unused_arguments import only, refusal

_logger = logging.getLogger("graphc")
#: The version of the lines' form: docs/training.md describes it.
SCHEMA = 1
#: What collect_specified_data may ask for, and what it may only decline.
_COLLECTED = ("collect_metric", "collect_train_lineage", "collect_eval_lineage")
_DECLINED = ("collect_graph", "collect_input_data", "collect_dataset_graph", "histogram_regular", "collect_landscape")
#: ru_maxrss is in kilobytes, on macOS in bytes.
_UNIT = 1 if sys.platform == "darwin" else 1024


class SummaryCollector(Callback):
    """Writes a run to SUMMARY_DIR/run.jsonl, run-2.jsonl, ... one JSON object per line (MindSpore: train.SummaryCollector).

    docs/training.md has the form of the lines: the run, every collect_freq-th step with loss, overflow, loss scale, learning
    rate, seconds and peak memory, every epoch with its metrics, the end. In sink mode every step of a sink counts, with its
    share of the sink's seconds. keep_default_action: collect metrics and what the run is made of, unless
    collect_specified_data, a dict, says otherwise ("collect_metric", "collect_train_lineage", "collect_eval_lineage": bool;
    what else MindSpore collects can only be declined). custom_lineage_data: a dict of names with numbers or strings for the
    first line. max_file_size: bytes after which no steps are written any more, which is said once. num_process has no effect
    on what is written; collect_tensor_freq and export_options are None. Raises ArgumentTypeError or ArgumentValueError.
    """

    in_fit_eval = False

    def __init__(
        self,
        summary_dir: str,
        collect_freq: int = 10,
        num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None,
        keep_default_action: bool = True,
        custom_lineage_data: dict[str, Any] | None = None,
        collect_tensor_freq: int | None = None,
        max_file_size: int | None = None,
        export_options: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        owner = "SummaryCollector"
        if not isinstance(summary_dir, (str, os.PathLike)):
            raise checks.wrong_type(owner, "summary_dir", "a path", summary_dir)
        self._directory = make_directory(Path(summary_dir))
        self._every = checks.integer(owner, "collect_freq", collect_freq)
        checks.integer(owner, "num_process", num_process)
        usual = checks.boolean(owner, "keep_default_action", keep_default_action)
        self._collected = _collected(usual, collect_specified_data)
        self._custom = _custom(custom_lineage_data)
        only(owner, "collect_tensor_freq", collect_tensor_freq, None)
        only(owner, "export_options", export_options, None)
        self._most = None if max_file_size is None else checks.integer(owner, "max_file_size", max_file_size)
        self._file: IO[str] | None = None
        #: The file of this run, None before it begins.
        self.path: Path | None = None
        self._seen = 0
        self._last = self._epoch_began = time.perf_counter()
        self._steps_made = 0

    def on_train_begin(self, run_context: Any) -> None:
        """Open a new file, and write what the run is."""
        params = run_context.original_args()
        rank, ranks = processes.rank(), processes.size()
        self._file, self.path = numbered(self._directory, f"run-rank{rank}" if ranks > 1 else "run")
        self._seen = 0
        line: dict[str, Any] = {"kind": "run", "schema": SCHEMA, "time": time.time()}
        if ranks > 1:
            line |= {"rank": rank, "ranks": ranks}
        if self._collected["collect_train_lineage"]:
            network, optimizer, loss = params.network, params.get("optimizer"), params.get("loss_fn")
            line |= {
                "network": type(network).__name__,
                "optimizer": None if optimizer is None else type(optimizer).__name__,
                "loss_fn": None if loss is None else type(loss).__name__,
                "parameters": sum(p.size for p in network.trainable_params()),
                "epochs": params.epoch_num,
                "steps_per_epoch": params.batch_num,
                "sink": params.dataset_sink_mode,
            }
        self._write(line | ({"custom": self._custom} if self._custom else {}))
        self._steps_made = _made(params)
        self._last = time.perf_counter()

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """Start the clock."""
        self._epoch_began = self._last = time.perf_counter()

    def on_train_step_end(self, run_context: Any) -> None:
        """Write the step, or those of the sink, that are due."""
        params = run_context.original_args()
        now = time.perf_counter()
        steps = params.get("sink_losses")
        count = 1 if steps is None else len(steps)
        seconds = (now - self._last) / max(count, 1)
        overflows = params.get("sink_overflows")
        made = self._steps_made
        for i in range(count):
            overflow = overflow_of(params.net_outputs) if overflows is None else bool(overflows[i])
            number = params.cur_step_num - count + i + 1
            if number - self._seen >= self._every:
                self._seen = number
                scales = params.get("sink_scales")
                self._write(
                    {
                        "kind": "step",
                        "epoch": params.cur_epoch_num,
                        "step": number,
                        "loss": mean_loss(params.net_outputs) if steps is None else float(steps[i]),
                        "overflow": overflow,
                        "scale": scale_of(params.net_outputs) if scales is None else float(scales[i]),
                        "learning_rate": learning_rate(params.get("optimizer"), made),
                        "seconds": seconds,
                        "memory": peak_memory(),
                    },
                    limited=True,
                )
            made += not overflow
        self._steps_made = _made(params, made)
        self._last = time.perf_counter()

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Write the epoch and what its evaluation gave."""
        params = run_context.original_args()
        metrics = params.get("eval_results", {}) if self._collected["collect_metric"] else {}
        self._write(
            {
                "kind": "epoch",
                "epoch": params.cur_epoch_num,
                "step": params.cur_step_num,
                "step_in_epoch": step_in_epoch(params) if params.cur_step_num else 0,
                "loss": mean_loss(params.get("net_outputs")),
                "seconds": time.perf_counter() - self._epoch_began,
                "memory": peak_memory(),
                "metrics": {name: np.asarray(value).tolist() for name, value in metrics.items()},
            }
        )

    def on_train_end(self, run_context: Any) -> None:
        """Write how it ended, and close the file."""
        error = run_context.error
        reason = "error" if error is not None else "stopped" if run_context.get_stop_requested() else "done"
        self._write({"kind": "end", "time": time.time(), "reason": reason, "error": error and _text(error)})
        self.__exit__()

    def __exit__(self, *ended: Any) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: dict[str, Any], limited: bool = False) -> None:
        """Write a line as a whole, so that a reader, or a kill, finds whole lines."""
        if self._file is None:
            return
        if limited and self._most is not None and self._file.tell() > self._most:
            _logger.warning("SummaryCollector: %s has reached max_file_size, its steps end here", self.path)
            self._most = None
            self._every = sys.maxsize
            return
        write_line(self._file, line)


def _collected(usual: bool, given: Any) -> dict[str, bool]:
    owner = "SummaryCollector"
    if given is not None and not isinstance(given, dict):
        raise checks.wrong_type(owner, "collect_specified_data", "a dict or None", given)
    made = dict.fromkeys(_COLLECTED, usual)
    for name, value in (given or {}).items():
        if name in _COLLECTED:
            made[name] = checks.boolean(owner, f"collect_specified_data[{name!r}]", value)
        elif name not in _DECLINED:
            raise checks.wrong_value(owner, "collect_specified_data", f"of {', '.join(_COLLECTED + _DECLINED)}", name)
        elif value not in (None, False):
            raise refusal(owner, f"collect_specified_data[{name!r}]", value, False)
    return made


def _custom(given: Any) -> dict[str, Any]:
    if given is not None and not isinstance(given, dict):
        raise checks.wrong_type("SummaryCollector", "custom_lineage_data", "a dict or None", given)
    for name, value in (given or {}).items():
        if not isinstance(name, str) or not isinstance(value, (int, float, str)):
            raise ArgumentTypeError(
                f"SummaryCollector: custom_lineage_data maps names to numbers or strings, got {name!r}: "
                f"{type(value).__name__}",
                loc=user_loc(),
            )
    return dict(given or {})


def write_line(file: IO[str], line: dict[str, Any]) -> None:
    """Write an object as a line."""
    file.write(json.dumps(_plain(line), allow_nan=False) + "\n")
    file.flush()


def numbered(directory: Path, stem: str) -> tuple[IO[str], Path]:
    """The first of STEM.jsonl, STEM-2.jsonl, ... that is not there yet."""
    number = 1
    while True:
        path = directory / (f"{stem}.jsonl" if number == 1 else f"{stem}-{number}.jsonl")
        try:
            return open(path, "x", encoding="utf-8"), path
        except FileExistsError:
            number += 1


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")


def _plain(value: Any) -> Any:
    """JSON has no infinities and no NaN: they become "inf", "-inf" and "nan"."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def peak_memory() -> int:
    """Bytes that this process has occupied at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def _made(params: Any, otherwise: int = 0) -> int:
    """The steps that the optimizer has made so far."""
    optimizer = params.get("optimizer")
    return int(optimizer.global_step.storage[0]) if isinstance(optimizer, Optimizer) else otherwise


def learning_rate(optimizer: Any, step: int) -> Any:
    """The rate of the optimizer's step number `step`, from 0: a number, or a list of those of its groups; None if unknown."""
    if not isinstance(optimizer, Optimizer):
        return None
    holders = optimizer.learning_rate if optimizer.is_group_lr else [optimizer.learning_rate]
    distinct = {id(h): h for h in holders}.values()
    rates = [_rate(h, step) for h in distinct]
    return rates if optimizer.is_group_lr else rates[0]


def _rate(holder: Any, step: int) -> float | None:
    if isinstance(holder, Parameter):
        return float(holder.storage.reshape(-1)[0])
    if isinstance(holder, RateList):
        rates = holder.learning_rate.storage
        return float(rates[step]) if step < rates.size else None
    if isinstance(holder, LearningRateSchedule):
        return float(holder(Tensor([step], "int32")).asnumpy().reshape(-1)[0])
    return None
