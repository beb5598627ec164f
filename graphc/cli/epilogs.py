"""What stands below the options in the help of commands."""

from __future__ import annotations

RUN = """
FILE.py is run as `python FILE.py` would. A graph (a .ir or .json file, a dump directory, or - for standard
input) is compiled as it stands, without passes, and run once on the arrays of an .npz file, which holds
every input and parameter by name (%3 where a node has none). Without -o the results are printed.

examples:
  graphc run --mindspore train.py --epochs 3
  graphc run out/digits/dump --inputs x.npz -o results.npz
"""

CACHE = """
Objects are found by the graph, the versions of graphc, Numba and llvmlite, and the processor's features. Import
files of your own only: they hold machine code, which runs.

examples:
  graphc cache export objects.zip
  graphc cache import objects.zip
"""

OPT = """
FILE.ir is a .ir or .json file, a dump directory, or - for standard input. A pass is named as in
graphc.passes.PIPELINE, which is the default, or FILE.py:FUNCTION. The graph is verified after each.

examples:
  graphc opt step.ir --passes simplify,cse --timing
  graphc opt step.ir --stop-after autodiff | graphc lower -
  graphc opt step.ir --passes mine.py:fold,prune --verify
"""
