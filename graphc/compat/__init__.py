"""`import mindspore` of an unchanged script resolves to graphc: where its names are found, and those that mean nothing here.

On request only: `install()`, or `graphc run --mindspore FILE`.
"""

from graphc.compat.modules import install, installed, uninstall
from graphc.paths.table import MODULES

__all__ = ["MODULES", "install", "installed", "uninstall"]
