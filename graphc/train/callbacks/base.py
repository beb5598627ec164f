"""The protocol of callbacks, and the list of them that a run calls."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError, GraphcWarning, stacklevel, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.train.context import RunContext

#: The hooks of older versions, which those of training and evaluation call.
_OLD = ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end", "end")


class Callback:
    """Base of callbacks (MindSpore: train.Callback): override the stages of interest; each gets a RunContext.

    A run enters a callback as a context manager, and leaves it at its end whatever happens. `on_train_end` and `on_eval_end`
    are called at the end of a run that was broken off, too: `run_context.error` is then what did it.
    The hooks begin, epoch_begin, step_begin, step_end, epoch_end and end are those of older versions: training and evaluation
    call both.
    """

    #: Whether it is called in the evaluations of `Model.fit`, too.
    in_fit_eval = True
    #: Whether it may ask for the end of a training behind any step.
    asks_in_steps = False

    def joint_work(self, network: Any) -> str | None:
        """What it does together with the other processes of a data-parallel training, in a line, which must be the same in all;
        None if it does nothing of the kind. network: the training cell.
        """
        return None

    def __enter__(self) -> Callback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to release."""

    def begin(self, run_context: Any) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: Any) -> None:
        """Before each epoch."""

    def epoch_end(self, run_context: Any) -> None:
        """After each epoch."""

    def step_begin(self, run_context: Any) -> None:
        """Before each step."""

    def step_end(self, run_context: Any) -> None:
        """After each step."""

    def end(self, run_context: Any) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: Any) -> None:
        """Before the first epoch of a training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """Before each epoch of a training."""
        self.epoch_begin(run_context)

    def on_train_step_begin(self, run_context: Any) -> None:
        """Before each training step, or sink."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """After each training step, or sink."""
        self.step_end(run_context)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """After each epoch of a training, and its evaluation in `fit`."""
        self.epoch_end(run_context)

    def on_train_end(self, run_context: Any) -> None:
        """After the last epoch of a training, or what has broken it off."""
        self.end(run_context)

    def on_eval_begin(self, run_context: Any) -> None:
        """Before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: Any) -> None:
        """Before the one epoch of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: Any) -> None:
        """Before each batch of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: Any) -> None:
        """After each batch of an evaluation."""
        self.step_end(run_context)

    def on_eval_epoch_end(self, run_context: Any) -> None:
        """After the one epoch of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_end(self, run_context: Any) -> None:
        """After an evaluation, or what has broken it off."""
        self.end(run_context)


def as_list(callbacks: Any) -> list[Callback]:
    """Callbacks as users give them: None, one, or an iterable. ArgumentTypeError for anything else."""
    given = [] if callbacks is None else [callbacks] if isinstance(callbacks, Callback) else callbacks
    if isinstance(given, (str, bytes, type)) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            f"callbacks must be a Callback or a list of them, got {type(callbacks).__name__}", loc=user_loc()
        )
    made = list(given)
    for each in made:
        if not isinstance(each, Callback):
            name = each.__name__ if isinstance(each, type) else type(each).__name__
            raise ArgumentTypeError(
                f"callbacks must be Callbacks, one of them is {name}",
                loc=user_loc(),
                help=f"give an instance: {name}()" if isinstance(each, type) and issubclass(each, Callback) else None,
            )
        warn_of_names(type(each))
    return made


def warn_of_names(kind: type[Callback]) -> None:
    """GraphcWarning for methods of a user's callback that are named like hooks and are none: nobody calls them."""
    hooks = [n for n in vars(Callback) if n in _OLD or n.startswith("on_")]
    own = {
        n
        for c in kind.__mro__
        if c.__module__ != "builtins" and not c.__module__.startswith("graphc.")
        for n in vars(c)
    }
    for name in sorted(n for n in own.difference(hooks) if not n.startswith("_") and callable(getattr(kind, n))):
        # Names as short as `end` are near to too many others.
        near = nearest(name, [n for n in hooks if len(n) > 5])
        if near or name.startswith("on_"):
            text = GraphcError(
                f"{kind.__name__}.{name} is called by nobody: it is none of a callback's hooks",
                loc=user_loc(),
                help=question(near) or f"hooks are {', '.join(hooks)}",
            )
            warnings.warn(str(text), GraphcWarning, stacklevel=stacklevel())


def refuse_old_hooks(callbacks: Iterable[Callback]) -> None:
    """ArgumentValueError for a user's callback with hooks that `fit` would call in training and in evaluation alike."""
    for each in callbacks:
        own = not type(each).__module__.startswith("graphc.")
        found = [n for n in _OLD if n in vars(type(each))] if own else []
        if found:
            raise ArgumentValueError(
                f"{type(each).__name__} defines {', '.join(found)}: in fit, both training and evaluation would call it",
                loc=user_loc(),
                help=f"name it on_train_{found[0]} or on_eval_{found[0]}",
            )


class CallbackList:
    """The callbacks of a run: entered and left together, called one after the other."""

    def __init__(self, callbacks: list[Callback]) -> None:
        self._callbacks = callbacks
        self._stack = ExitStack()

    def __enter__(self) -> CallbackList:
        with ExitStack() as entered:
            targets = [entered.enter_context(each) for each in self._callbacks]
            self._stack = entered.pop_all()
        # MindSpore lets __enter__ return another callback in its place.
        self._callbacks = [t if isinstance(t, Callback) else c for t, c in zip(targets, self._callbacks, strict=True)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, trace)

    def call(self, hook: str, run_context: RunContext) -> None:
        """Call a hook of all of them. What one raises is noted with its name, and raised."""
        for each in self._callbacks:
            try:
                getattr(each, hook)(run_context)
            except BaseException as error:
                error.add_note(f"raised by {type(each).__name__}.{hook}{_where(run_context)}")
                raise

    def finish(self, hook: str, run_context: RunContext, error: BaseException | None = None) -> None:
        """Call the last hook of all of them, whatever one of them raises, and raise the first error: that of the run, if it
        has one, in which later ones are noted.
        """
        run_context.error = error
        for each in self._callbacks:
            try:
                getattr(each, hook)(run_context)
            except BaseException as another:
                name = f"{type(each).__name__}.{hook}"
                if error is None:
                    error = run_context.error = another
                    another.add_note(f"raised by {name}{_where(run_context)}")
                else:
                    error.add_note(f"{name} has failed, too: {type(another).__name__}: {another}")
        if error is not None:
            raise error


def _where(run_context: RunContext) -> str:
    params = run_context.original_args()
    epoch, step = params.get("cur_epoch_num"), params.get("cur_step_num")
    return "" if epoch is None else f" in epoch {epoch}, step {step}"
