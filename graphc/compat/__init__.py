"""`import mindspore` of an unchanged script resolves to graphc.

On request only: `install()`, or `graphc run --mindspore FILE`.
"""

from graphc.compat.modules import MODULES, install, installed, uninstall

__all__ = ["MODULES", "install", "installed", "uninstall"]
