"""ProgressBar: a bar on a terminal, a line per epoch elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from graphc.nn import checks
from graphc.train.callbacks.base import Callback
from graphc.train.outputs import mean_loss


class ProgressBar(Callback):
    """Shows how far a training is (no name of MindSpore's).

    On a terminal, and with tqdm installed (`pip install 'graphc[progress]'`): a bar per epoch with the loss. Otherwise one
    line per epoch: `epoch 1/20  step 45  loss 2.3052  64,840 steps/s`. file: where to, by default sys.stderr for the bar and
    sys.stdout for lines. bar: True or False instead of looking for a terminal; True without tqdm is an ArgumentValueError.
    """

    in_fit_eval = False

    def __init__(self, file: Any = None, bar: bool | None = None) -> None:
        super().__init__()
        if bar is not None:
            checks.boolean("ProgressBar", "bar", bar)
        if file is not None and not hasattr(file, "write"):
            raise checks.wrong_type("ProgressBar", "file", "a text file", file)
        self._file = file
        self._tqdm = None if bar is False else _tqdm()
        if bar and self._tqdm is None:
            raise checks.wrong_value(
                "ProgressBar", "bar", "False or None without tqdm", bar, "pip install 'graphc[progress]'"
            )
        stream = file or sys.stderr
        if bar is None and not (hasattr(stream, "isatty") and stream.isatty()):
            self._tqdm = None
        self._bar: Any = None
        self._began = time.perf_counter()
        self._first = 0

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """A new bar."""
        params = run_context.original_args()
        self._began, self._first = time.perf_counter(), params.cur_step_num
        if self._tqdm is not None:
            title = f"epoch {params.cur_epoch_num}/{_last(params)}"
            self._bar = self._tqdm(total=params.batch_num, desc=title, file=self._file or sys.stderr, unit="step")

    def on_train_step_end(self, run_context: Any) -> None:
        """Move the bar on."""
        if self._bar is not None:
            params = run_context.original_args()
            loss = mean_loss(params.net_outputs)
            if loss is not None:
                self._bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
            self._bar.update(params.cur_step_num - self._first - self._bar.n)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Close the bar, or print the line."""
        params = run_context.original_args()
        results = params.get("metrics", {})
        shown = "".join(f"  {name} {value:.4f}" for name, value in results.items() if isinstance(value, float))
        if self._bar is not None:
            self._close()
            if shown:
                print(shown.strip(), file=self._file or sys.stderr, flush=True)
            return
        steps = params.cur_step_num - self._first
        loss = mean_loss(params.get("net_outputs"))
        rate = steps / max(time.perf_counter() - self._began, 1e-9)
        print(
            f"epoch {params.cur_epoch_num}/{_last(params)}  step {params.cur_step_num}"
            f"{'' if loss is None else f'  loss {loss:.4f}'}  {rate:,.0f} steps/s{shown}",
            file=self._file or sys.stdout,
            flush=True,
        )

    def __exit__(self, *ended: Any) -> None:
        """Leave the terminal in order."""
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _last(params: Any) -> int:
    """The number of the last epoch."""
    return int(params.epoch_num + params.get("initial_epoch", 0))


def _tqdm() -> Any:
    """tqdm's class; None where it is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm
