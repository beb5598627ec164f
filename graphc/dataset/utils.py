"""What stands in `mindspore.dataset.utils`: lines of files by their numbers."""

from __future__ import annotations

from typing import Any

from graphc.dataset.lines import LineReader
from graphc.frames import clean
from graphc.signatures import accept
from graphc.suggest import no_member

__all__ = ["LineReader"]

accept(globals(), __all__, __name__)


def __getattr__(name: str) -> Any:
    try:
        return no_member(__name__, name, __all__)
    except (AttributeError, ImportError) as error:
        clean(error)
        raise
