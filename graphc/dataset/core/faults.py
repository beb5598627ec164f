"""What users' own functions raise, as an error that names the sample and their line."""

from __future__ import annotations

import sysconfig
import traceback
from types import TracebackType
from typing import Any

from graphc.errors import DataError, GraphcError, Loc, is_hidden, user_loc

_LIBRARIES = tuple({path for name in ("stdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))})


def loc_of(trace: TracebackType | None) -> Loc | None:
    """The innermost line that is neither graphc's nor an installed library's; else the innermost that is not graphc's."""
    own = library = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_hidden(file):
            library = trace.tb_frame
            if not file.startswith(_LIBRARIES):
                own = trace.tb_frame
        trace = trace.tb_next
    frame = own or library
    return user_loc(frame) if frame is not None else None


class RemoteTraceback(Exception):
    """The traceback of another process, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def fault(what: str, sample: object, error: BaseException) -> DataError:
    """The error to raise from `error`. what: whose function; sample: which sample, or None."""
    place = f" at sample {sample}" if sample is not None else ""
    if isinstance(error, GraphcError):
        made = DataError(
            f"{what}{place}: {error.message}",
            code=error.code,
            loc=error.loc or loc_of(error.__traceback__),
            details=error.details,
            help=error.help,
        )
    else:
        text = f"{error}"
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        made = DataError(f"{what}{place} raised {said}", code="GC200", loc=loc_of(error.__traceback__))
    made.sample = None if sample is None else str(sample)
    return made


def packable(error: DataError) -> dict[str, Any]:
    """An error of a worker process as plain data."""
    cause = error.__cause__ or error
    text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
    return {
        "message": error.message,
        "code": error.code,
        "loc": error.loc,
        "details": error.details,
        "help": error.help,
        "trace": text,
        "sample": error.sample,
    }


def unpacked(fields: dict[str, Any]) -> DataError:
    """The error that a worker process sent; its cause has that process's traceback."""
    made = DataError(
        fields["message"], code=fields["code"], loc=fields["loc"], details=fields["details"], help=fields["help"]
    )
    made.sample = fields["sample"]
    made.__cause__ = RemoteTraceback(fields["trace"])
    return made


def interrupts() -> tuple[type[BaseException], ...]:
    """What is never turned into a fault."""
    return (KeyboardInterrupt, SystemExit, GeneratorExit)
