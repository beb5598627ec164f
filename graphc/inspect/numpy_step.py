"""A graph as a Python file that runs it with NumPy alone: one function per op, one line per node.

The functions are the ops' own references, as they are written (`graphc.inspect.sources`), so the file computes what the NumPy
interpreter does in the step's own dtypes: halves in float32, rounded once per op. Parameters, inputs and large constants
stand in an .npz beside it.
"""

from __future__ import annotations

import io
import keyword
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentValueError, ExportError
from graphc.files import write_atomic
from graphc.inspect.sources import NoSourceError, Sources, literal
from graphc.ir import Graph, Node, TensorType, Value, all_ops, walk
from graphc.ir.op import Alias, ByAttributes
from graphc.ir.text import INLINE_ELEMENTS
from graphc.ir.types import HALVES, Array
from graphc.ops.user_kernels import python_kernel

#: Words of the file's own.
_WORDS = (
    "step",
    "load",
    "main",
    "state",
    "data",
    "stored",
    "result",
    "STATE",
    "INPUTS",
    "CONSTANTS",
    "sys",
    "Path",
    "np",
)
#: The functions of the file that convert to a dtype; halves are rounded by them.
_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16"}
#: An identifier that is no value's name and no conversion's.
_ARGUMENT = re.compile(r"(?!v\d+(_\d+)?\Z)[A-Za-z_]\w*(?<!_)\Z", re.ASCII)
#: So many types of results stand behind a node.
_TYPES = 4
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Names(NamedTuple):
    """What parameters and inputs are called in the file, by node id: keys of `state`, and arguments of `step`."""

    state: dict[int, str]
    inputs: dict[int, str]


def names_of(graph: Graph) -> Names:
    """The user's names, each used once; inputs become identifiers."""
    params = [n for n in map(graph.node, graph.inputs) if n.op.name == "Param"]
    inputs = [n for n in map(graph.node, graph.inputs) if n.op.name != "Param"]
    taken = {*_WORDS, *all_ops(), *keyword.kwlist, *_SHORT.values()}
    words = [(n.id, re.sub(r"\W", "_", n.name, flags=re.ASCII) if n.name else "input") for n in inputs]
    return Names(
        _once(((n.id, n.name or f"%{n.id}") for n in params), set()),
        _once(((id, word if _ARGUMENT.match(word) else f"input_{word}") for id, word in words), taken),
    )


def _once(names: Iterable[tuple[int, str]], taken: set[str]) -> dict[int, str]:
    """The names by id, numbered where one is used again."""
    made: dict[int, str] = {}
    for id, name in names:
        unique, count = name, 2
        while unique in taken:
            unique, count = f"{name}_{count}", count + 1
        taken.add(unique)
        made[id] = unique
    return made


def write_numpy(
    path: str | Path, graph: Graph, state: Mapping[int, Array], inputs: Mapping[int, Array], about: str = ""
) -> list[Path]:
    """Write PATH.py and PATH.npz, which run the graph without graphc; returns both paths.

    state, inputs: the arrays with which the file begins, of every Param and Input node by id. about: a line for the file's
    head. Raises ExportError GC193, which names the op, for a node whose op has no NumPy reference that could be written as
    text, and ArgumentValueError for a path that does not end in .py or an array that does not fit; nothing is written then.
    """
    file = Path(path)
    if file.suffix != ".py":
        raise ArgumentValueError(f"a NumPy step is a Python file, {str(path)!r} does not end in .py")
    for id in graph.inputs:
        given = (state if graph.node(id).op.name == "Param" else inputs).get(id)
        if given is None or given.shape != graph.node(id).type.shape:
            held = "nothing" if given is None else f"an array of shape {given.shape}"
            raise ArgumentValueError(f"%{id} {graph.node(id).name} is {graph.node(id).type}, given is {held}")
    names = names_of(graph)
    writer = _Writer(graph, names)
    text = writer.file(about, file.stem)
    arrays = {f"state_{k}": state[id] for k, id in enumerate(names.state)}
    arrays |= {f"input_{k}": inputs[id] for k, id in enumerate(names.inputs)}
    data = write_atomic(file.with_suffix(".npz"), _archive(arrays | writer.constants))
    return [write_atomic(file, text.encode()), data]


def _archive(arrays: Mapping[str, Array]) -> bytes:
    """An .npz; bfloat16 is kept as float32, which holds it exactly."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.save(member, array.astype(np.float32) if array.dtype.name == "bfloat16" else array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _EPOCH), member.getvalue(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


_CONVERSION = '''def {name}(x):
    """x as an array of {dtype}."""
    return np.asarray(x).astype({numpy}, copy=False)'''
_TAIL = '''def load():
    """(state, inputs) with which the step was exported: parameters by name, and the arguments of `step`."""
    state = {{name: convert(data[f"state_{{k}}"]) for k, (name, convert) in enumerate(STATE.items())}}
    inputs = [convert(data[f"input_{{k}}"]) for k, convert in enumerate(INPUTS)]
    return state, inputs


def main():
    """Run as many steps as the command line says, three by default, and print what they return."""
    state, inputs = load()
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 3):
        result = step(state, *inputs)
        shown = ", ".join(f"{{name}} = {{np.array2string(x, threshold=8)}}" for name, x in result.items())
        print(f"step {{number + 1}}: {{shown}}")


if __name__ == "__main__":
    main()'''


class _Writer:
    """Writes one graph. Values have names: `v12`, `v12_1` for a second result; captures of a subgraph those from outside."""

    def __init__(self, graph: Graph, names: Names) -> None:
        self.graph = graph
        self.names = names
        self.constants: dict[str, Array] = {}
        self._variables: dict[Value, str] = {}
        self._sources = Sources({*_WORDS, *all_ops(), *_SHORT.values(), *names.inputs.values()})
        self._types = {v: t for _, n in walk(graph) for v, t in zip(n.outputs, n.types, strict=True)}
        self._called: dict[str, str] = {}  # What an op's function is called.
        self._converts: dict[str, str] = {}
        self._gives: dict[Any, list[str | None]] = {}

    def file(self, about: str, stem: str) -> str:
        """The whole text."""
        body = "\n".join(f"    {line}".rstrip() for line in self._step())
        arguments = ", ".join(["state", *self.names.inputs.values()])
        state = [f"    {name!r}: {self._convert(self.graph.node(id).type)}," for id, name in self.names.state.items()]
        inputs = [self._convert(self.graph.node(id).type) for id in self.names.inputs]
        results = ", ".join(dict.fromkeys(r.name for r in self.graph.results))
        conversions = [*self._conversions()]
        head = [
            '"""'
            + _comment(f"{self.graph.name}: one step, written out by graphc. It needs NumPy only.").replace('"', "'"),
            *([_comment(about).replace('"', "'")] if about else []),
            "",
            f"`python {stem}.py 5` runs five steps from the state and on the inputs in {stem}.npz, and prints what they return.",
            "In `step` every line is a node of the graph: `v12` is %12, behind it its type, name and line of the source.",
            '"""',
        ]
        parts = [
            "\n".join(head),
            "\n".join(["import sys", "from pathlib import Path", *sorted(self._sources.imports, key=_import_order)]),
            'with np.load(Path(__file__).with_suffix(".npz")) as stored:\n    data = dict(stored)',
            "# ---- ops",
            *conversions,
            *self._sources.blocks,
            "# ---- the step",
            f'@np.errstate(all="ignore")\ndef step({arguments}):\n'
            f'    """One step: gives {_comment(results).replace(chr(34), chr(39)) or "nothing"} by name; '
            f'updates the arrays of `state`, by name, too."""\n{body}',
            "# ---- state and inputs",
            "STATE = {\n" + "\n".join(state) + "\n}" if state else "STATE = {}",
            f"INPUTS = [{', '.join(inputs)}]",
            _TAIL.format(),
        ]
        return "\n\n\n".join(parts) + "\n"

    def _step(self) -> list[str]:
        """The lines of `step`."""
        graph, names = self.graph, self.names
        lines = []
        for id, name in names.state.items():
            lines.append(self._line(graph.node(id), f"state[{name!r}]"))
        for id, name in names.inputs.items():
            self._variables[Value(id)] = name
        lines += self._nodes(graph)
        lines += ["", "# ---- what the step leaves behind"]
        # All of them are read before one is written: a parameter may get what another one held.
        lines += [f"state[{names.state[u.param]!r}] = {self._value(u.value)}" for u in graph.updates]
        results = (f"{r.name!r}: {self._value(r.value)}" for r in graph.results)
        return [*lines, f"return {{{', '.join(results)}}}"]

    def _nodes(self, graph: Graph) -> Iterator[str]:
        """The lines of a graph's nodes, with a heading where region or layer change."""
        section = None
        for node in graph:
            if node.op.name in ("Input", "Param"):
                continue
            if (node.region, node.scope) != section:
                section = (node.region, node.scope)
                yield ""
                yield f"# ---- {node.region} {_comment(node.scope)}".rstrip()
            if node.op.name == "If":
                yield from self._if(node)
            elif node.op.name == "While":
                yield from self._while(node)
            elif node.op.name == "Scan":
                yield from self._scan(node)
            else:
                yield from self._call(node)

    def _value(self, value: Value) -> str:
        return self._variables[value]

    def _targets(self, node: Node) -> list[str]:
        single = len(node.types) == 1
        made = [f"v{node.id}" if single else f"v{node.id}_{slot}" for slot in range(len(node.types))]
        self._variables |= dict(zip(node.outputs, made, strict=True))
        return made

    def _line(self, node: Node, text: str) -> str:
        return f"{', '.join(self._targets(node))} = {text}  # {_about(node)}"

    def _call(self, node: Node) -> Iterator[str]:
        """A node of an op with a reference."""
        if node.op.name == "Constant":
            yield self._line(node, self._constant(node))
            return
        if isinstance(node.op.lower, ByAttributes) and isinstance(node.lower, Alias):
            value, shape = self._value(node.inputs[0]), node.type.shape
            same = self.graph.type(node.inputs[0]).shape == shape
            yield self._line(node, value if same else f"{value}.reshape({shape})")
            return
        try:
            kernel = python_kernel(node.op)
            function = self._function(node, kernel[0] if kernel else None)
            attrs = {k: literal(v) for k, v in node.attrs.items()}
        except NoSourceError as error:
            raise _refused(node, str(error)) from None
        operands = [self._operand(v) for v in node.inputs]
        if kernel is not None and kernel[1]:
            yield from self._written(node, function, operands, list(attrs.values()))
            return
        given = [*operands, *(attrs.values() if kernel else (f"{k}={v}" for k, v in attrs.items()))]
        text = f"{function}({', '.join(given)})"
        converts = self._results(node) if kernel is None else [self._convert(t) for t in node.types]
        if len(converts) == 1:
            yield self._line(node, f"{converts[0]}({text})" if converts[0] else text)
            return
        yield self._line(node, text)
        for target, convert in zip(self._targets(node), converts, strict=True):
            if convert:
                yield f"{target} = {convert}({target})"

    def _written(self, node: Node, function: str, operands: list[str], attrs: list[str]) -> Iterator[str]:
        """A user's kernel that writes its results in place; halves come to it as float32."""
        targets = self._targets(node)
        for target, type in zip(targets, node.types, strict=True):
            dtype = "float32" if type.dtype in HALVES else type.dtype
            yield f"{target} = np.zeros({literal(type.shape)}, {dtype!r})"
        yield f"{function}({', '.join([*operands, *targets, *attrs])})  # {_about(node)}"
        for target, type in zip(targets, node.types, strict=True):
            if type.dtype in HALVES:
                yield f"{target} = {self._convert(type)}({target})"

    def _function(self, node: Node, python: Any) -> str:
        """What the function of an op is called. Raises NoSourceError."""
        name = node.op.name
        if name not in self._called:
            if python is not None:
                self._called[name] = self._sources.expression(python)
            elif node.op.ref is None:
                raise NoSourceError("it has no NumPy reference")
            else:
                self._sources.define(name, node.op.ref)
                self._called[name] = name
        return self._called[name]

    def _operand(self, value: Value) -> str:
        """A value as references take it: halves as float32."""
        name = self._value(value)
        return f"{self._named('float32')}({name})" if self._types[value].dtype in HALVES else name

    def _results(self, node: Node) -> list[str | None]:
        """What has to convert the results of a reference to their dtypes: found by a try with zeros, one for all nodes of an
        op and the same dtypes. Scalars of NumPy become arrays.
        """
        types = [self._types[v] for v in node.inputs]
        words = tuple(v for v in node.attrs.values() if isinstance(v, (str, bool)))
        key = (node.op.name, words, *((t.dtype, t.rank > 0) for t in (*types, *node.types)))
        if key not in self._gives:
            kept = _keeps(node, types)
            self._gives[key] = [None if k else self._convert(t) for t, k in zip(node.types, kept, strict=True)]
        return self._gives[key]

    def _convert(self, type: TensorType) -> str:
        return self._named(type.dtype)

    def _named(self, dtype: str) -> str:
        return self._converts.setdefault(dtype, _SHORT.get(dtype, f"{dtype}_"))

    def _conversions(self) -> Iterator[str]:
        for dtype, name in self._converts.items():
            if dtype == "bfloat16":
                self._sources.imports.add("import ml_dtypes")
            numpy = "ml_dtypes.bfloat16" if dtype == "bfloat16" else repr(dtype)
            yield _CONVERSION.format(name=name, dtype=dtype, numpy=numpy)

    def _constant(self, node: Node) -> str:
        data = node.attrs["value"]
        if data.array is None:
            raise _refused(node, "its data are not in the text of the graph")
        convert = self._convert(node.type)
        if data.array.size <= INLINE_ELEMENTS:
            items = data.array.astype(np.float32) if node.type.dtype == "bfloat16" else data.array
            shape = f".reshape({literal(node.type.shape)})" if 0 in node.type.shape else ""
            return f"{convert}({literal(items.tolist())}){shape}"
        self.constants[f"constant_{data.digest}"] = data.array
        return f'{convert}(data["constant_{data.digest}"])'

    # ---- control flow

    def _if(self, node: Node) -> Iterator[str]:
        """Both branches in place; what they take has its name from outside."""
        condition, *captures = map(self._value, node.inputs)
        results = [f"v{node.id}_{slot}" for slot in range(len(node.types))]
        for word, attr in ((f"if {condition}:", "then"), ("else:", "else")):
            branch = node.attrs[attr]
            self._variables |= {Value(i): name for i, name in zip(branch.inputs, captures, strict=True)}
            yield f"{word}  # {_about(node)}" if attr == "then" else word
            inside = [*self._nodes(branch)]
            inside += [f"{y} = {self._value(r.value)}" for y, r in zip(results, branch.results, strict=True)]
            yield from (f"    {line}".rstrip() for line in inside or ["pass"])
        self._variables |= dict(zip(node.outputs, results, strict=True))

    def _while(self, node: Node) -> Iterator[str]:
        """The loop; its variables are the names of its results."""
        count = node.attrs["carried"]
        given = [*map(self._value, node.inputs)]
        carried = [f"v{node.id}_{slot}" for slot in range(count)]
        for part in (node.attrs["cond"], node.attrs["body"]):
            pairs = zip(part.inputs, [*carried, *given[count:]], strict=True)
            self._variables |= {Value(i): name for i, name in pairs}
        yield from _assigned(carried, given[:count])
        yield f"while True:  # {_about(node)}"
        test = node.attrs["cond"]
        inside = [*self._nodes(test), f"if not {self._value(test.results[0].value)}:", "    break"]
        inside += self._nodes(node.attrs["body"])
        inside += _assigned(carried, [self._value(r.value) for r in node.attrs["body"].results])
        yield from (f"    {line}".rstrip() for line in inside)
        self._variables |= dict(zip(node.outputs, carried, strict=True))

    def _scan(self, node: Node) -> Iterator[str]:
        """The loop; what turns make is collected in lists that have the names of the stacks."""
        attrs, body = node.attrs, node.attrs["body"]
        count, scanned, turns = attrs["carried"], attrs["scanned"], attrs["length"]
        given = [*map(self._value, node.inputs)]
        results, turn = [f"v{node.id}_{slot}" for slot in range(len(node.types))], f"t{node.id}"
        carried, stacks = results[:count], dict(zip(results[count:], attrs["stacks"], strict=True))
        yield from _assigned(carried, given[:count])
        for name, k in stacks.items():
            yield f"{name} = [{given[k]}]" if k < count else f"{name} = []"
        yield f"for {turn} in {'reversed(' * attrs['reverse']}range({turns}){')' * attrs['reverse']}:  # {_about(node)}"
        rows = [f"v{id}" for id in body.inputs[count : count + scanned]]
        names = [*carried, *rows, *given[count + scanned :]]
        self._variables |= {Value(i): name for i, name in zip(body.inputs, names, strict=True)}
        inside = [f"{row} = np.asarray({x}[{turn}])" for row, x in zip(rows, given[count:], strict=False)]
        inside += self._nodes(body)
        made = [self._value(r.value) for r in body.results]
        inside += [f"{name}.append({made[k]})" for name, k in stacks.items()]
        inside += _assigned(carried, made[:count])
        yield from (f"    {line}".rstrip() for line in inside or ["pass"])
        for (name, _), type in zip(stacks.items(), node.types[count:], strict=True):
            order = "[::-1]" * attrs["reverse"]
            dtype = "float32" if type.dtype in HALVES else type.dtype
            yield f"{name} = np.array({name}{order}, {dtype!r}).reshape({literal(type.shape)})"
        self._variables |= dict(zip(node.outputs, results, strict=True))


def _assigned(targets: Sequence[str], values: Sequence[str]) -> Iterator[str]:
    """One assignment to all of them at once: a value may be another one's old one."""
    if targets:
        yield f"{', '.join(targets)} = {', '.join(values)}"


def _keeps(node: Node, types: Sequence[TensorType]) -> list[bool]:
    """Whether a reference gives results of the dtypes that the type rule says."""
    operands = [np.zeros(t.shape, np.float32 if t.dtype in HALVES else t.numpy) for t in types]
    try:
        with np.errstate(all="ignore"):
            made = node.op.ref(*operands, **node.attrs) if node.op.ref is not None else ()
    except Exception:  # Zeros may be no sensible operands; a conversion too much does no harm.
        return [False] * len(node.types)
    results = made if isinstance(made, tuple) else (made,)
    return [isinstance(a, np.ndarray) and a.dtype == t.numpy for a, t in zip(results, node.types, strict=True)]


def _refused(node: Node, why: str) -> ExportError:
    return ExportError(
        f"{node.op.name} cannot be exported to NumPy: {why}",
        loc=node.loc,
        nodes=[node.id],
        help="an op declared with a plain NumPy function as its reference can",
    )


def _about(node: Node) -> str:
    """The comment behind a node."""
    types = ", ".join(map(str, node.types[:_TYPES])) + (", ..." if len(node.types) > _TYPES else "")
    parts = [f"%{node.id}", types, node.name, str(node.loc or "")]
    if node.fwd is not None:
        parts.append(f"grad of %{node.fwd}")
    return _comment("  ".join(p for p in parts if p))


def _comment(text: str) -> str:
    """Text that stays on its line."""
    return "".join(c if c.isprintable() and c != "\\" else ascii(c)[1:-1] for c in text)


def _import_order(line: str) -> tuple[bool, str]:
    return ("numpy" in line or "ml_dtypes" in line, line)
