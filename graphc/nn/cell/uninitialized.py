"""Networks whose parameters are loaded after they have been made (MindSpore: mindspore.nn.utils)."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def no_init_parameters() -> AbstractContextManager[None]:
    """`with no_init_parameters():` around a network whose parameters are loaded afterwards.

    Initial values are made at once, as everywhere: the network is that of MindSpore after `init_parameters_data()`, which gives
    those parameters a value there that no checkpoint has one for.
    """
    return nullcontext()


__all__ = ["no_init_parameters"]
