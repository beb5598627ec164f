"""OnRequestExit: a training that ends in order when it is asked to."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from graphc.checkpoint import save_checkpoint
from graphc.checkpoint.saving import holds_parts
from graphc.errors import ArgumentValueError, user_loc
from graphc.files import make_directory
from graphc.nn import checks
from graphc.processes import anybody
from graphc.train.callbacks.base import Callback
from graphc.train.callbacks.checkpoint import restore
from graphc.train.rank_callbacks import several
from graphc.validation.unused_arguments import no_effect

_logger = logging.getLogger("graphc")
#: The key of the JSON file that asks for the end.
_KEY = "GracefulExit"


class OnRequestExit(Callback):
    """Ends a training or an evaluation after the step, or sink, in which it is asked to (MindSpore: train.OnRequestExit).

    Asked by the signal sig, or by `{"GracefulExit": 1}` in the JSON file config_file. save_ckpt: the state is then saved as
    DIRECTORY/rank_0/FILE_NAME_train.ckpt (_eval for an evaluation), and a later run starts from that file where it is there.
    save_mindir has no effect, which is said when it would have had one. Of the processes of a data-parallel training, all of
    which have it, any may be asked to end, and all do. Signals reach the main thread only: a run in another one raises
    ArgumentValueError. Raises ArgumentTypeError or ArgumentValueError for other arguments.
    """

    in_fit_eval = False
    asks_in_steps = True

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = True,
        file_name: str = "Net",
        directory: str | None = "./",
        config_file: str | None = None,
        sig: int = signal.SIGTERM,
    ) -> None:
        super().__init__()
        owner = "OnRequestExit"
        self.save_ckpt = checks.boolean(owner, "save_ckpt", save_ckpt)
        self.save_mindir = checks.boolean(owner, "save_mindir", save_mindir)
        for name, value in (
            ("file_name", file_name),
            ("directory", directory or "."),
            ("config_file", config_file or ""),
        ):
            if not isinstance(value, (str, os.PathLike)):
                raise checks.wrong_type(owner, name, "a string", value)
        if not checks.is_int(sig) or sig not in signal.valid_signals():
            raise checks.wrong_value(owner, "sig", "a signal", sig)
        if sig in (signal.SIGKILL, signal.SIGSTOP):
            raise checks.wrong_value(owner, "sig", "a signal that a process can catch", signal.Signals(sig).name)
        self.sig = sig
        self.config_file = None if config_file is None else Path(config_file)
        self._directory, self._name = Path(directory or os.curdir) / "rank_0", file_name
        self.exit = False
        self._before: Any = None

    def joint_work(self, network: Any) -> str | None:
        """Ending, and saving what all hold."""
        return f"OnRequestExit: save_ckpt={self.save_ckpt}"

    def _file(self, kind: str) -> Path:
        return self._directory / f"{self._name}_{kind}.ckpt"

    def _listen(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise ArgumentValueError("OnRequestExit: signals reach the main thread only", loc=user_loc())
        self.exit = False
        self._before = signal.signal(self.sig, self._handle_signal)

    def _handle_signal(self, signum: int, frame: FrameType | None) -> None:
        self.exit = True

    def __exit__(self, *ended: Any) -> None:
        """The signal means again what it meant before."""
        if self._before is not None:
            signal.signal(self.sig, self._before)
            self._before = None

    def on_train_begin(self, run_context: Any) -> None:
        """Listen; go back to the state of an earlier exit."""
        self._listen()
        if self.save_ckpt:
            restore(self._file("train"), run_context.original_args().train_network)

    def on_train_step_end(self, run_context: Any) -> None:
        """Ask for the end, if it is wished."""
        if self._wished():
            run_context.request_stop()

    def on_train_end(self, run_context: Any) -> None:
        """Save the state, if the end was wished."""
        if run_context.error is None and several():
            self.exit = anybody("wish to end", self.exit)
        self._save("train", run_context.original_args().train_network, run_context)

    def on_eval_begin(self, run_context: Any) -> None:
        """Listen; load the state of an earlier exit."""
        self._listen()
        if self.save_ckpt:
            kinds = [kind for kind in ("eval", "train") if self._file(kind).is_file()]
            for kind in kinds[:1]:
                restore(self._file(kind), run_context.original_args().eval_network)

    def on_eval_step_end(self, run_context: Any) -> None:
        """Ask for the end, if it is wished."""
        if self._wished():
            run_context.request_stop()

    def on_eval_end(self, run_context: Any) -> None:
        """Save the state, if the end was wished."""
        network = run_context.original_args().eval_network
        if run_context.error is None and holds_parts(network):
            self.exit = anybody("wish to end", self.exit)
        self._save("eval", network, run_context)

    def _wished(self) -> bool:
        if not self.exit and self.config_file is not None and self.config_file.is_file():
            try:
                found = json.loads(self.config_file.read_text())
            except ValueError as error:  # It may be written at this moment.
                _logger.warning("OnRequestExit: %s is no JSON: %s", self.config_file, error)
                return False
            self.exit = isinstance(found, dict) and found.get(_KEY) == 1
        return self.exit

    def _save(self, kind: str, network: Any, run_context: Any) -> None:
        if not self.exit or run_context.error is not None:
            return
        if self.save_ckpt:
            make_directory(self._directory)
            save_checkpoint(network, self._file(kind))
        if self.save_mindir:
            no_effect("OnRequestExit", "save_mindir", "graphc writes no MindIR")
