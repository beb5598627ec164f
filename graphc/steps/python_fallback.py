"""Cells that are left to Python: in programs of MindSpore's which set no mode, what cannot be compiled runs op by op.

MindSpore begins in PYNATIVE_MODE, where all runs so; here Cells are compiled until one is refused for what Python alone can do.
A warning says so, once for a Cell. Who sets a mode gets what it says.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphc import context
from graphc.errors import ArgumentTypeError, GraphcError, OpByOpWarning, stacklevel
from graphc.errors.codes import PYTHON_ALONE
from graphc.nn.cell.cell import Cell
from graphc.trace.mutation.outliving import Outliving
from graphc.validation.unused_arguments import refuses_once


class Left:
    """Whether one Cell is left to Python."""

    def __init__(self) -> None:
        self._is_left = False
        #: Why it is, until that has been said.
        self._reason: GraphcError | None = None

    @property
    def now(self) -> bool:
        """Whether a call runs op by op."""
        return self._is_left and context.leaves_to_python()

    @contextmanager
    def trying(self, cell: Cell, lasting: Outliving, is_as_it_was: Callable[[], bool]) -> Iterator[None]:
        """Compile the cell: an error that Python alone may settle ends in `now`, all others go on.

        What compiling has changed for good goes back, as Python does it once more. An error goes on where that cannot be.
        """
        if cell.always_compiles or not context.leaves_to_python():
            yield
            return
        token = refuses_once.set(True)
        try:
            yield
        except GraphcError as error:
            if not (_may_be_settled(error) and lasting.undone() and is_as_it_was()):
                raise
            self._is_left, self._reason = True, error
        finally:
            refuses_once.reset(token)

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Run the cell that users call so op by op: when it has run the first time, say why. Where Python refuses it, too, its
        error goes on, and the cell is as it was.
        """
        reason, self._reason = self._reason, None
        try:
            yield
        except BaseException:
            self._is_left = self._is_left and reason is None
            raise
        if reason is not None:
            _warn(name, reason)


def _may_be_settled(error: GraphcError) -> bool:
    """Whether values could help: a tensor stands where a number or a Python value is needed, or a size that none tells."""
    return error.code in PYTHON_ALONE or error.on_sizes or isinstance(error, ArgumentTypeError)


def _warn(name: str, reason: GraphcError) -> None:
    otherwise = "it is compiled, and does that once" if reason.code == "GC134" else "this is an error"
    text = GraphcError(
        f"{name} cannot be compiled, and runs op by op from now on",
        code=reason.code,
        loc=reason.loc,
        details=[reason.message],
        help=f"mindspore.set_context(mode=mindspore.PYNATIVE_MODE) says that it shall; in GRAPH_MODE {otherwise}",
    )
    warnings.warn(str(text), OpByOpWarning, stacklevel=stacklevel())
