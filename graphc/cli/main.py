"""The `graphc` command. Parsing only: what commands do is in graphc.cli.commands and graphc.cli.graphs, imported when one runs.

Exit codes: 0 done (for `diff`: no difference), 1 `diff` found differences, 2 bad arguments or a failure, 130
interrupted, 141 the reader of the output has gone (as if by SIGPIPE).
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module

from graphc.cli.epilogs import CACHE, OPT, RUN
from graphc.cli.values import depth, integer, number, words
from graphc.errors import GraphcError, printable

_DESCRIPTION = "Compile MindSpore-style training cells for the CPU, and look at every node of the compiled step."

_TARGETS = """
TARGET is a dump directory, a .ir file, a graph.json, or FILE.py:ATTR. ATTR is a function without
arguments that returns (cell, inputs), or a compiled step; it is compiled when the command runs.
With --script it is FILE.py, which is run as it is, and with --mindspore `import mindspore` means graphc in
it: what is looked at are the steps it compiles.

examples:
  graphc train --epochs 5 --out out/digits      train LeNet-5 on handwritten digits
  graphc show out/digits/dump --order           in which order the overflow check runs
  graphc show model.py:build --region backward  the gradient nodes of your own cell
  graphc dump model.py:build --out out/model    graph, passes, generated code
  graphc page out/digits/dump -o step.html      a page about the step: see docs/seeing.md
  graphc report run.jsonl -o page.html          a page about a training run
  graphc explain GC101                          what an error code means
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments (default: those of the process). Returns the exit code."""
    if sys.stdout is None:  # As `>&-` leaves it.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # What a terminal's encoding lacks is escaped, as on stderr.
        sys.stdout.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if argv is None else argv
    if not given:
        parser().print_help(sys.stderr)
        return 2
    args = parser().parse_args(given)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except GraphcError as error:
        print(f"graphc: {error}", file=sys.stderr)
    except BrokenPipeError:
        # The reader, `head` for instance, has gone. Python would complain once more when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        # What has no file's name is the standard output.
        where = "" if error.filename is None else f": {error.filename}"
        print(printable(f"graphc: {error.strerror or error}{where}"), file=sys.stderr)
    except KeyboardInterrupt:
        print("graphc: interrupted", file=sys.stderr)
        return 130
    return 2


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="graphc", description=_DESCRIPTION, epilog=_TARGETS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_train(commands)
    _add_dump(commands)
    _add_show(commands)
    _add_others(commands)
    _add_opt(commands)
    _add_run(commands)
    _add_report(commands)
    _add_page(commands)
    _add_export(commands)
    _add_nan(commands)
    return top


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    run = _command(commands, "run", "run a Python script, where `import mindspore` may mean graphc; or a graph", RUN)
    run.add_argument("--mindspore", action="store_true", help="let `import mindspore` of the script mean graphc")
    _add_graph_options(run)
    run.set_defaults(graph_options=graph_options)
    run.add_argument("script", metavar="FILE", help="a script FILE.py, or a graph")
    run.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="the script's own arguments, or more options of a graph"
    )


def _add_graph_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("--inputs", metavar="FILE.npz", help="of a graph: the arrays of its inputs and parameters")
    run.add_argument("-o", "--output", metavar="FILE.npz", help="of a graph: where results and updated parameters go")
    _add_threads(run)
    _add_load(run)


def graph_options(given: argparse.Namespace) -> argparse.Namespace:
    """The options of `graphc run GRAPH` that stand behind the graph, added to those before it."""
    rest = argparse.ArgumentParser(
        prog=f"graphc run {given.script}", add_help=False, argument_default=argparse.SUPPRESS
    )
    _add_graph_options(rest)
    found = rest.parse_args(given.arguments, given)
    _load(found.load)
    return found


def _add_threads(command: argparse.ArgumentParser) -> None:
    command.add_argument("--threads", type=integer(1), metavar="N", help="threads of the step (default: as compile)")


def _load(files: Iterable[str]) -> None:
    """Run the user's files, each once."""
    from pathlib import Path

    from graphc import scripts  # Only `--load` runs a file of the user's.

    for file in files:
        scripts.load(Path(file))


def _add_load(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--load", action="append", default=[], metavar="FILE.py", help="run this file first: it declares ops"
    )


def _add_target_options(command: argparse.ArgumentParser) -> None:
    """How a TARGET is read: as a script, and which of its steps is looked at."""
    command.add_argument("--mindspore", action="store_true", help="run FILE.py where `import mindspore` means graphc")
    command.add_argument("--script", action="store_true", help="run FILE.py as a script")
    command.add_argument("--args", type=words, metavar="TEXT", help="the script's own arguments, as one text")
    command.add_argument(
        "--step",
        type=integer(1),
        metavar="N",
        help="the N-th step that the script compiles (default: the first that trains)",
    )
    command.add_argument(
        "--to-end", action="store_true", help="run the script to its end, not only until that step is compiled"
    )
    _add_load(command)


def _add_opt(commands: _Commands[argparse.ArgumentParser]) -> None:
    opt = _command(commands, "opt", "run passes on a graph and print what they make of it", OPT)
    opt.add_argument("graph", metavar="FILE.ir", help="the graph")
    opt.add_argument("--passes", metavar="A,B", help="the passes, in this order (default: the whole pipeline)")
    opt.add_argument("--stop-after", metavar="NAME", help="the last pass to run")
    opt.add_argument(
        "--verify", action="store_true", help="compare the graph's meaning before and after each pass, too"
    )
    opt.add_argument("--timing", action="store_true", help="print the time and effect of each pass to stderr")
    opt.add_argument("-o", "--output", metavar="FILE.ir", help="write the graph there instead of printing it")
    _add_load(opt)
    lower = _command(commands, "lower", "print the statements that a graph is lowered to, on their buffers")
    lower.add_argument(
        "graph", metavar="FILE.ir", help="a .ir or .json file, a dump directory, or - for standard input"
    )
    lower.add_argument(
        "--stages", action="store_true", help="print them after fusion and after each rewrite, not only last"
    )
    _add_threads(lower)
    _add_load(lower)


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *unused: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"graphc {version('graphc')}")
        except PackageNotFoundError:
            print("graphc (not installed: running from a checkout)")
        parser.exit()


#: The modules of graphc.cli with what the commands do; "commands" for the others.
_ROOMS = {
    "opt": "graphs",
    "run": "run",
    "lower": "graphs",
    "show": "show_commands",
    "passes": "show_commands",
    "diff": "show_commands",
    "why-order": "show_commands",
    "profile": "measuring",
    "mem": "measuring",
    "why": "measuring",
    "page": "pages",
    "export": "exports",
    "nan": "nans",
    "cache": "caches",
}
#: Commands whose arguments are described at their end.
_TAKE_TARGETS = ("dump", *(name for name, room in _ROOMS.items() if room not in ("graphs", "caches")))

_Commands = argparse._SubParsersAction  # argparse has no public name for it.


def _command(
    commands: _Commands[argparse.ArgumentParser], name: str, help: str, epilog: str | None = None
) -> argparse.ArgumentParser:
    made = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog or (_TARGETS.split("\n\n")[0] if name in _TAKE_TARGETS else None),
    )
    made.set_defaults(run=_run(name))
    return made


def _run(name: str) -> Callable[[argparse.Namespace], int]:
    def run(args: argparse.Namespace) -> int:
        room = import_module(f"graphc.cli.{_ROOMS.get(name, 'commands')}")
        _refuse_without_script(args)
        _load(getattr(args, "load", ()))
        function: Callable[[argparse.Namespace], int] = getattr(room, name.replace("-", "_"))
        return function(args)

    return run


def _refuse_without_script(args: argparse.Namespace) -> None:
    """TargetError for options about a script where no TARGET is run as one: they would have no effect."""
    options = {"script": "--script", "step": "--step", "args": "--args", "to_end": "--to-end"}
    given = [option for name, option in options.items() if hasattr(args, "to_end") and getattr(args, name)]
    targets = [str(getattr(args, name, "")) for name in ("target", "a", "b")]
    if given and not ((args.script or args.mindspore) and any(name.endswith(".py") for name in targets)):
        from graphc.scripts import TargetError  # Only `--load` runs a file of the user's.

        raise TargetError(
            f"{given[0]} is about a script, and none is run", help="name FILE.py, with --script or --mindspore"
        )


def _add_train(commands: _Commands[argparse.ArgumentParser]) -> None:
    train = _command(
        commands, "train", "train LeNet-5 on handwritten digits with dynamic loss scaling, as a demonstration"
    )
    train.add_argument(
        "--epochs", type=integer(1), default=20, metavar="N", help="passes over the data (default %(default)s)"
    )
    train.add_argument(
        "--batch-size", type=integer(1), default=32, metavar="N", help="images per step (default %(default)s)"
    )
    train.add_argument(
        "--lr",
        type=number(0, open=True),
        default=0.02,
        metavar="X",
        help="learning rate of the first epoch (default %(default)s)",
    )
    train.add_argument(
        "--momentum", type=number(0, 1), default=0.9, metavar="X", help="momentum, 0 to 1 (default %(default)s)"
    )
    train.add_argument(
        "--loss-scale", type=number(1), default=1024.0, metavar="X", help="the first loss scale (default %(default)s)"
    )
    train.add_argument(
        "--scale-window", type=integer(1), default=200, metavar="N",
        help="steps without overflow after which the loss scale doubles (default %(default)s)",
    )  # fmt: skip
    train.add_argument(
        "--seed", type=integer(0, 2**32 - 1), default=1, metavar="N", help="of weights and order (default %(default)s)"
    )
    train.add_argument(
        "--resume", action="store_true", help="go on behind the last epoch that a run of several processes finished"
    )
    train.add_argument(
        "--ranks",
        type=integer(1),
        default=1,
        metavar="N",
        help="start so many processes, which share every batch, by mpiexec",
    )
    train.add_argument(
        "--max-restarts", type=integer(0), default=0, metavar="N",
        help="with --ranks: when processes fail, start them again up to so many times, behind the last epoch",
    )  # fmt: skip
    train.add_argument("--limit-steps", type=integer(1), metavar="N", help="stop after that many steps")
    train.add_argument(
        "--out",
        default=os.path.join("out", "digits"),
        metavar="DIR",
        help="for the checkpoint and the dump (default %(default)s)",
    )


def _add_dump(commands: _Commands[argparse.ArgumentParser]) -> None:
    dump = _command(commands, "dump", "write everything about a compiled step into a directory, or print its graph")
    dump.add_argument("target", metavar="TARGET", help="what to dump")
    dump.add_argument(
        "--out", metavar="DIR", help="where to write (default out/ATTR, unless --as prints); needs FILE.py:ATTR"
    )
    dump.add_argument(
        "--as",
        dest="form",
        choices=("text", "json", "node-link", "dot", "mermaid"),
        help="print the graph in this form",
    )
    _add_target_options(dump)
    dump.add_argument(
        "--scope", metavar="PATH", help="dot, mermaid: only this Cell and below, and what it has to do with"
    )
    dump.add_argument(
        "--depth",
        type=depth,
        metavar="N",
        help="dot, mermaid: a box for each Cell down to this depth, or `all`: one for each node (default: at most 60 boxes)",
    )


def _add_show(commands: _Commands[argparse.ArgumentParser]) -> None:
    show = _command(commands, "show", "print a graph, or a part of it, as text IR")
    show.add_argument("target", metavar="TARGET", help="what to show")
    show.add_argument("--region", metavar="NAME", help="only state, forward, backward, overflow or optimizer nodes")
    show.add_argument("--scope", metavar="PATH", help="only nodes of this Cell path and below, e.g. network.conv1")
    show.add_argument("--op", metavar="NAME", help="only nodes of this op")
    show.add_argument("--from", dest="start", metavar="NODE", help="only what depends on this node (an id or a name)")
    show.add_argument("--to", dest="end", metavar="NODE", help="only what this node depends on")
    show.add_argument("--grad-of", metavar="NODE", help="only what computes the gradient of this node")
    show.add_argument(
        "--at", metavar="FILE:LINE", help="only what was made on this line, or by what it calls; or in this file"
    )
    show.add_argument("--dtype", metavar="NAME", help="only nodes with a result of this dtype, e.g. f16 or float16")
    what = show.add_mutually_exclusive_group()
    what.add_argument(
        "--order", action="store_true", help="the order that the overflow check imposes, from loss to update"
    )
    what.add_argument("--stats", action="store_true", help="how many nodes, by region and op")
    what.add_argument("--schedule", action="store_true", help="the calls that compute them, in the order of execution")
    show.add_argument("--json", action="store_true", help="as JSON")
    _add_target_options(show)


def _add_report(commands: _Commands[argparse.ArgumentParser]) -> None:
    report = _command(commands, "report", "make a page about one training run, or several, from their records")
    report.add_argument("records", metavar="RUN.jsonl", nargs="+", help="a record, as docs/report.md describes it")
    report.add_argument(
        "-o", "--output", metavar="PAGE.html", help="where the page goes (default: beside the first record)"
    )
    report.add_argument(
        "--tensorboard", metavar="FOLDER", help="write TensorBoard's event files there; a page as well only with -o"
    )


def _add_page(commands: _Commands[argparse.ArgumentParser]) -> None:
    page = _command(commands, "page", "make a page about a compiled step: forward, gradient, check, update, memory")
    page.add_argument("target", metavar="TARGET", help="a dump directory, a graph.json, FILE.py:ATTR, or a script")
    page.add_argument(
        "-o",
        "--output",
        metavar="STEP.html",
        help="where the page goes (default: step.html, in a dump beside its files)",
    )
    _add_target_options(page)


_EXPORT = """
TARGET is a dump directory, a .ir file, a graph.json, FILE.py:ATTR, or with --script a script.

onnx:  FILE.onnx, a model that onnxruntime runs: a forward network or the whole step with its state.
so:    a shared object with a C header, which runs a compiled step without Python.
numpy: FILE.py and FILE.npz run the whole step, state included, with NumPy and without graphc. One
function per op, one line per node with its %id and the line of your source: for a bug report, or to read.

examples:
  graphc export model.py:build --as numpy -o step.py && python step.py 5
  graphc export out/digits/dump --as numpy -o step.py --inputs x.npz
"""

_NAN = """
TARGET is FILE.py:ATTR, a function without arguments that returns (cell, inputs): it is compiled and run
on these inputs; or a script FILE.py, which is run as it stands, with its arguments. Exit code 1 if a value
was found that is not finite, or above the bound.

examples:
  graphc nan model.py:build --steps 20
  graphc nan model.py:build --bound 65504        would this step fit float16?
  graphc nan --mindspore train.py --epochs 3
"""


def _add_export(commands: _Commands[argparse.ArgumentParser]) -> None:
    export = _command(commands, "export", "write a compiled step in a form that runs without graphc", _EXPORT)
    export.add_argument("target", metavar="TARGET", help="what to write")
    export.add_argument("--as", dest="form", choices=("numpy", "onnx", "so"), required=True, help="the form")
    export.add_argument("-o", "--output", required=True, metavar="FILE", help="where it goes")
    export.add_argument(
        "--inputs", metavar="FILE.npz", help="numpy: arrays of a graph's inputs and parameters, by name"
    )
    _add_target_options(export)


def _add_nan(commands: _Commands[argparse.ArgumentParser]) -> None:
    nan = _command(commands, "nan", "run a step, or a script, and name the first value that is not finite", _NAN)
    _add_nan_options(nan)
    nan.set_defaults(nan_options=nan_options)
    nan.add_argument("target", metavar="TARGET", help="FILE.py:ATTR, or a script FILE.py")
    nan.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def _add_nan_options(nan: argparse.ArgumentParser) -> None:
    nan.add_argument("--steps", type=integer(1), default=1, metavar="N", help="of FILE.py:ATTR: steps to run")
    nan.add_argument("--bound", type=number(0, open=True), metavar="X", help="name the first value above this, too")
    nan.add_argument(
        "--save", metavar="STEP.py", help="write the failing step as a NumPy file with its inputs and state"
    )
    nan.add_argument("--mindspore", action="store_true", help="let `import mindspore` of a script mean graphc")
    nan.add_argument("--json", action="store_true", help="as JSON")
    _add_load(nan)


def nan_options(given: argparse.Namespace) -> argparse.Namespace:
    """The options of `graphc nan FILE.py:ATTR` that stand behind it, added to those before it."""
    rest = argparse.ArgumentParser(
        prog=f"graphc nan {given.target}", add_help=False, argument_default=argparse.SUPPRESS
    )
    _add_nan_options(rest)
    for action in rest._actions:
        action.default = argparse.SUPPRESS
    found = rest.parse_args(given.arguments, given)
    _load(found.load)
    return found


def _add_others(commands: _Commands[argparse.ArgumentParser]) -> None:
    passes = _command(commands, "passes", "list the passes with the nodes each removed and added")
    passes.add_argument("target", metavar="TARGET", help="a dump directory or FILE.py:ATTR")
    diff = _command(commands, "diff", "say in what two graphs differ; exit code 1 if they do")
    diff.add_argument("a", metavar="A", help="a TARGET")
    diff.add_argument("b", metavar="B", help="a TARGET")
    diff.add_argument("--nodes", action="store_true", help="list every node, not only what the summary leaves open")
    order = _command(
        commands, "why-order", "show what guarantees that one node runs before another; exit code 1 if nothing does"
    )
    order.add_argument("target", metavar="TARGET", help="what to look at")
    order.add_argument("a", metavar="A", help="the node that is first: an id such as %%12, or a name")
    order.add_argument("b", metavar="B", help="the node that is later")
    why = _command(commands, "why", "show where a node comes from, back to your line, and where it is computed")
    why.add_argument("target", metavar="TARGET", help="what to look at")
    why.add_argument("node", metavar="NODE", help="an id such as %%42, of a node that is gone, too; or a name")
    profile = _command(commands, "profile", "run a step and say where its time goes: by Cell, op and kernel")
    profile.add_argument("target", metavar="TARGET", help="what to run; or a record with times, as --record writes it")
    profile.add_argument("--runs", type=integer(1), metavar="N", help="runs to time (default: those of 1.5 seconds)")
    profile.add_argument(
        "--trace", metavar="FILE.json", help="write one run as a trace for Perfetto or chrome://tracing"
    )
    profile.add_argument("--record", metavar="FILE.json", help="write the step's record, with the times")
    mem = _command(commands, "mem", "say what memory a step takes, when, and for what")
    mem.add_argument("target", metavar="TARGET", help="what to look at")
    mem.add_argument("--at", type=integer(0), metavar="CALL", help="look at this call instead of the peak")
    for command in (profile, mem):
        command.add_argument(
            "--rows", type=integer(1), default=15, metavar="N", help="rows of a table (default %(default)s)"
        )
    explain = _command(commands, "explain", "say what an error code means; without a code, list them")
    explain.add_argument("error_code", nargs="?", metavar="CODE", help="for example GC101")
    cache = _command(commands, "cache", "export the cache of compiled objects to a file, or import one", CACHE)
    cache.add_argument("action", choices=("export", "import"), help="write all objects, or take those of a file")
    cache.add_argument("file", metavar="FILE.zip", help="the file")
    doctor = _command(commands, "doctor", "print versions, CPU features, switches and the cache, for a bug report")
    for command in (passes, diff, order, why, profile, mem):
        _add_target_options(command)
    for command in (passes, diff, order, why, profile, mem, explain, doctor):
        command.add_argument("--json", action="store_true", help="as JSON")
