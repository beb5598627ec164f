"""`mindspore._c_expression.amp`: levels of mixed precision by number."""

from __future__ import annotations

from enum import Enum
from typing import Any, Never

from graphc.errors import ArgumentTypeError, user_loc


class AmpLevel(Enum):
    """The levels that `amp.auto_mixed_precision` has by name."""

    AmpO0 = 0
    AmpO1 = 1
    AmpO2 = 2
    AmpO3 = 3
    AmpAuto = 4


def create_amp_strategy(*args: Any, **kwargs: Any) -> Never:
    """ArgumentTypeError: primitives are not cast by the native library, a network is by amp."""
    raise ArgumentTypeError(
        "graphc has no strategies of mixed precision that cells hold",
        loc=user_loc(),
        help="amp.auto_mixed_precision(network, level, dtype), or amp.custom_mixed_precision with lists of one's own",
    )


__all__ = ["AmpLevel", "create_amp_strategy"]
