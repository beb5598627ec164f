"""`mindspore._c_expression`: what scripts ask MindSpore's native library about the device and the run."""

from __future__ import annotations

from typing import Any, Self


class MSContext:
    """The device, as scripts ask for it: no Ascend chip is there."""

    _instance: Any = None

    @classmethod
    def get_instance(cls) -> Self:
        """The only object."""
        if cls._instance is None:
            cls._instance = cls()
        made: Self = cls._instance
        return made

    def get_ascend_soc_version(self) -> str:
        """The version of the Ascend chip: "", there is none."""
        return ""

    def get_ascend_soc_name(self) -> str:
        """The name of the Ascend chip: "", there is none."""
        return ""


def is_reboot_node() -> bool:
    """Whether this process takes the place of one that has failed: False."""
    return False
