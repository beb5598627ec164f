"""What `graphc run` does: run a script, or a graph."""

from __future__ import annotations

import gc
import sys
from argparse import Namespace
from pathlib import Path

from graphc.collector import importing
from graphc.errors import GraphcError
from graphc.errors.codes import PYTHON_ALONE
from graphc.scripts import TargetError, run_main
from graphc.tracebacks import clean


def run(args: Namespace) -> int:
    """Run a script as `python FILE.py` would, with graphc under MindSpore's name if asked for; or a graph on its inputs."""
    if _is_graph(args.script):
        if args.mindspore:
            raise TargetError(f"--mindspore is for scripts, {args.script!r} is a graph")
        from graphc.cli import graphs  # Only commands on graphs need the compiler.

        return graphs.run(args.graph_options(args))
    if args.inputs is not None or args.output is not None or args.threads is not None or args.load:
        raise TargetError(
            "--inputs, --output, --threads and --load are for graphs", help="options of a script stand behind its name"
        )
    if not Path(args.script).is_file():
        raise TargetError(f"there is no file {args.script!r}")
    if args.mindspore:
        from graphc import compat  # Only `run --mindspore` needs it.

        compat.install()
    _settle()
    sys.argv = [args.script, *args.arguments]
    sys.path.insert(0, str(Path(args.script).resolve().parent))
    try:
        run_main(args.script)
    except Exception as error:
        # As Python itself would, without the frames that stand between it and the script.
        clean(error)
        if args.mindspore:
            _tell_of_modes(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _tell_of_modes(error: Exception) -> None:
    """A note where a script for MindSpore leaves the mode as it is, which there is another one."""
    from graphc import context  # Only scripts need the compiler.

    if isinstance(error, GraphcError) and error.code in PYTHON_ALONE and not context.is_chosen("mode"):
        error.add_note(
            "  note: the script sets no mode; MindSpore's is PYNATIVE_MODE then: set_context(mode=PYNATIVE_MODE) runs op by op"
        )


def _is_graph(target: str) -> bool:
    return target == "-" or target.endswith((".ir", ".json")) or Path(target).is_dir()


def _settle() -> None:
    """Import the compiler, and let the collector of cycles forget what is there before the script makes anything.

    All of that stays to the end. The collector would walk it at the end twice: a fifth of the time of a short script.
    """
    with importing:
        import graphc.steps.calls  # Only scripts need the compiler.
        import graphc.train  # noqa: F401

    gc.freeze()


__all__ = ["run"]
