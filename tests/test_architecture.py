"""Rules of the source tree, read from the files: who may import whom, where the environment is read, error codes, sizes."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from graphc.errors import CODES

ROOT = Path(__file__).parent.parent
GRAPHC = sorted((ROOT / "graphc").rglob("*.py"))
CODEGEN = sorted((ROOT / "codegen" / "graphc_codegen").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

BASE = {
    f"graphc.{m}"
    for m in (
        "attached",
        "context",
        "debug",
        "dispatch",
        "errors",
        "files",
        "grammar",
        "internal_errors",
        "paths",
        "processes",
        "scripts",
        "tracebacks",
        "validation",
    )
}
IR = BASE | {"graphc.ir"}
OPS = IR | {"graphc.ops"}
NN = OPS | {"graphc.nn"}
#: What each part may import; imports inside functions count. What is not named here stands above all of these.
ALLOWED = {
    "graphc.attached": set(),
    "graphc.errors": set(),
    "graphc.dispatch": set(),
    "graphc.debug": {"graphc.errors", "graphc_codegen.cores"},
    "graphc.files": {"graphc.errors"},
    "graphc.grammar": {"graphc.errors"},
    "graphc.tracebacks": {"graphc.errors", "graphc.debug"},
    "graphc.scripts": {"graphc.errors", "graphc.debug"},
    "graphc.validation": {f"graphc.{m}" for m in ("dispatch", "errors", "tracebacks")},
    "graphc.internal_errors": {
        f"graphc.{m}" for m in ("attached", "debug", "dispatch", "errors", "tracebacks", "validation")
    }
    | {"graphc_codegen.forks"},
    "graphc.paths": {f"graphc.{m}" for m in ("errors", "tracebacks", "validation")},
    "graphc.context": {f"graphc.{m}" for m in ("errors", "processes", "validation")},
    "graphc.processes": {f"graphc.{m}" for m in ("debug", "errors", "validation")}
    | {"graphc_codegen.forks", "graphc_codegen.links"},
    "graphc.ir": BASE,
    "graphc.ops": IR | {"graphc_codegen.forks"},
    "graphc.nn": OPS,
    "graphc.numpy": OPS,
    "graphc.scipy": NN | {"graphc.numpy"},
    "graphc.trace": NN | {"graphc_codegen.forks"},
    "graphc.passes": OPS,
    "graphc.lower": IR | {"graphc_codegen.program"},
    "graphc.inspect": OPS,
    "graphc.page": OPS | {"graphc.inspect"},
    "graphc.guards": NN | {"graphc.trace"},
}
#: The generator's rooms and single files: each imports only what stands before it, inside functions too.
ROOMS = (
    "errors", "forks", "cores", "dtypes", "permission", "target", "links", "literals", "thread_context", "declarations",
    "vector_writer", "writer",
    "kernel_facts", "scalars", "program", "loops", "kernels", "text", "validate", "object_code", "run", "shared_object",
)  # fmt: skip
#: Modules that import each other, inside functions included. There are no others.
CIRCLES = {("graphc.ir.graph", "graphc.ir.text"): "a graph prints itself"}
#: Third parties, and who may import them.
OUTSIDE = {
    "networkx": ("graphc/ir/", "graphc/ops/", "graphc/passes/", "graphc/inspect/"),
    "numba": ("codegen/", "graphc/dataset/audio/recurrences.py"),
    "llvmlite": ("codegen/", "graphc/cli/doctor.py"),
    "jinja2": ("codegen/",),
    "malt": ("graphc/trace/",),
    "mpi4py": ("graphc/processes/",),
    "pytest": ("graphc/testing/plugin.py",),
    "hypothesis": ("graphc/testing/strategies.py",),
}
#: Reads of the environment outside graphc.debug, and why.
ENVIRONMENT = {
    "graphc/debug.py": "the switches",
    "graphc/cli/show_commands.py": "NO_COLOR, which is no switch of graphc's",
    "graphc/processes/launch.py": "what mpiexec tells the processes that it starts",
    "graphc/cli/ranks.py": "what it starts has the same, and a little more",
    "codegen/graphc_codegen/object_code/cache.py": "XDG_CACHE_HOME: where caches are kept on this machine",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def part(path: Path) -> str:
    """The part of graphc a file belongs to: `graphc.ir`; `graphc` for its __init__."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    return "graphc" if inside[1] == "__init__" else ".".join(inside[:2])


def imports(path: Path) -> Iterator[tuple[str, int, bool, tuple[str, ...]]]:
    """(dotted name, line, whether inside a function, names taken from it) of everything a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(node)
    }
    checking = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in checking:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno, id(node) in lazy, ()) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                assert path in TESTS, f"{name(path)}:{node.lineno}: a relative import"
                continue
            whole = node.module or ""
            taken = tuple(a.name for a in node.names)
            if whole == "graphc":
                yield from ((f"graphc.{n}", node.lineno, id(node) in lazy, ()) for n in taken)
            else:
                yield whole, node.lineno, id(node) in lazy, taken


def imported_part(dotted: str) -> str:
    return ".".join(dotted.split(".")[:2])


def modules() -> dict[str, Path]:
    """Every module of both packages by its dotted name; a package by that of its folder."""
    found = {}
    for path in GRAPHC + CODEGEN:
        parts = path.relative_to(ROOT / "codegen" if path in CODEGEN else ROOT).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def handed_on(package: Path) -> dict[str, str]:
    """The modules that a package's __init__ has its names from."""
    found = imports(package) if package.name == "__init__.py" else ()
    return {n: dotted for dotted, _, lazy, names in found if not lazy for n in names}


def imported_modules(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """(module, whether inside a function) of what a file imports; `from package import module` is the module, and so is
    `from package import name` where the package hands on the name of a module of its own.
    """
    for dotted, _, lazy, names in imports(path):
        inner = [f"{dotted}.{n}" for n in names if f"{dotted}.{n}" in known]
        sources = handed_on(known[dotted]) if dotted in known and known[dotted] != path else {}
        inner += [sources[n] for n in names if sources.get(n, "").startswith(f"{dotted}.")]
        for module in inner or [dotted]:
            if module in known and known[module] != path:
                yield module, lazy


@pytest.mark.parametrize("path", GRAPHC, ids=name)
def test_import_direction(path):
    own = part(path)
    allowed = ALLOWED.get(own)
    wrong = []
    for dotted, line, _, _ in imports(path):
        if dotted.split(".")[0] not in ("graphc", "graphc_codegen") or allowed is None:
            continue
        target = imported_part(dotted)
        if target != own and target not in allowed:
            wrong.append(f"{name(path)}:{line} imports {dotted}")
    assert not wrong


def has_reason(lines: list[str], at: int) -> bool:
    """Whether an import has a comment in its line, or above it and the imports it stands among."""
    if "  # " in lines[at]:
        return True
    while lines[at - 1].strip().startswith(("import ", "from ")):
        at -= 1
    return lines[at - 1].strip().startswith("#")


def unreasoned(path: Path, known: dict[str, Path]) -> list[int]:
    """The lines of imports inside functions, of modules of this project, that do not say why they are late."""
    lines = path.read_text(encoding="utf-8").splitlines()
    late = {
        line
        for dotted, line, lazy, names in imports(path)
        if lazy and any(known.get(module, path) != path for module in (dotted, *(f"{dotted}.{n}" for n in names)))
    }
    return [line for line in sorted(late) if not has_reason(lines, line - 1)]


def test_imports_inside_functions_have_a_reason():
    known = modules()
    assert [f"{name(path)}:{line}" for path in GRAPHC + CODEGEN for line in unreasoned(path, known)] == []


def test_the_check_of_reasons_can_fail(tmp_path):
    path = tmp_path / "late.py"
    path.write_text(
        "def f():\n    import graphc.steps.compiled_step\n\n    # Why.\n    import graphc.ir\n    import graphc.nn\n"
    )
    assert unreasoned(path, modules()) == [2]


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module."""
    return sorted(sorted(c) for c in nx.strongly_connected_components(nx.DiGraph(edges)) if len(c) > 1)


def test_no_modules_import_each_other_in_a_circle():
    """A package's __init__ hands names on: whoever imports one of its modules runs it, so it closes no circle of its own."""
    known = modules()
    inner = {m: p for m, p in known.items() if p.name != "__init__.py"}
    edges = {m: {o for o, _ in imported_modules(p, known) if o in inner} for m, p in inner.items()}
    assert circles(edges) == [list(pair) for pair in CIRCLES]
    assert circles({**edges, "graphc.errors.classes": {"graphc.ir.op"}}) != circles(edges)


WORDLESS = re.compile(r"(^|[_/])(extra|more|further|misc|utils?)([_.]|$)")


def test_names_of_files_and_folders_say_something():
    """`common` is MindSpore's own name for the alias package."""
    entries = [*(ROOT / "graphc").rglob("*"), *(ROOT / "codegen").rglob("*"), *(ROOT / "tests").rglob("*")]
    wordless = [name(p) for p in entries if "__pycache__" not in p.parts and WORDLESS.search(p.name)]
    assert wordless == []
    assert [name(p) for p in entries if "common" in p.name and p.is_dir()] == ["graphc/common"]


def test_the_check_of_imports_can_fail():
    path = ROOT / "graphc" / "steps" / "compiled_step.py"
    found = {imported_part(dotted) for dotted, *_ in imports(path)}
    assert {"graphc.trace", "graphc.lower", "graphc.passes"} <= found - ALLOWED["graphc.lower"]
    assert part(path) == "graphc.steps"
    assert part(ROOT / "graphc" / "__init__.py") == "graphc"


@pytest.mark.parametrize("path", CODEGEN, ids=name)
def test_the_generator_never_imports_graphc(path):
    assert not [d for d, *_ in imports(path) if d.split(".")[0] == "graphc"]


def test_nothing_lies_beside_the_project() -> None:
    """The top level is fixed; what installing and building leave there is none of it."""
    left = {p.name for p in ROOT.iterdir() if not p.name.startswith(".") and p.suffix != ".egg-info"}
    assert left - {"build", "dist"} <= {"LICENSE", "README.md", "codegen", "docs", "graphc", "pyproject.toml", "tests"}


@pytest.mark.parametrize("path", CODEGEN, ids=name)
def test_rooms_of_the_generator_import_one_way(path):
    order = {room: k for k, room in enumerate(ROOMS)}
    own = path.relative_to(ROOT / "codegen" / "graphc_codegen").with_suffix("").parts[0]
    if own == "__init__":
        return
    for dotted, line, *_ in imports(path):
        if dotted.split(".")[0] == "graphc_codegen":
            target = dotted.split(".")[1]  # never from the package itself, which stands above all rooms
            assert order[target] <= order[own], f"{name(path)}:{line} imports {dotted}"


#: What looks like the name of a module and is that of a format, or of a key in one.
FORMATS = {"graphc.state", "graphc.step"}


def names_in_texts(path: Path) -> Iterator[tuple[str, int]]:
    """Texts that are dotted names of graphc's, and their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"graphc(\.\w+)+", node.value)
        ):
            yield node.value, node.lineno


def is_there(dotted: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    module, _, attribute = dotted.rpartition(".")
    try:
        return importlib.util.find_spec(dotted) is not None or hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:  # What is before the last dot is no package.
        return importlib.util.find_spec(module) is not None and hasattr(importlib.import_module(module), attribute)


def test_names_in_texts_are_there():
    """Modules that code knows by name, as tables and looks at frames do, move with what they name."""
    wrong = [
        f"{name(path)}:{line} {dotted}"
        for path in GRAPHC
        for dotted, line in names_in_texts(path)
        if dotted not in FORMATS and not is_there(dotted)
    ]
    assert wrong == []


@pytest.mark.parametrize("path", GRAPHC + CODEGEN, ids=name)
def test_third_parties(path):
    for dotted, line, *_ in imports(path):
        allowed = OUTSIDE.get(dotted.split(".")[0])
        if allowed is not None:
            assert name(path).startswith(allowed), f"{name(path)}:{line} imports {dotted}"


@pytest.mark.parametrize("path", GRAPHC + CODEGEN + TESTS, ids=name)
def test_nobody_imports_the_folder_instead_of_the_package(path):
    assert not [d for d, *_ in imports(path) if d.split(".")[0] == "codegen"]


# ---- what an import loads


def loaded(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'codegen')]!r}\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


HEAVY = {"numba", "llvmlite", "jinja2", "codegen", "malt", "pytest", "hypothesis"}


@pytest.mark.parametrize(
    "statement",
    [
        "import graphc.ir",
        "import graphc",
        "import graphc_codegen.program",
        "import graphc.cli.main",
        "import graphc.trace",
        "import graphc.testing",
    ],
)
def test_imports_stay_light(statement):
    modules = loaded(statement)
    assert not modules & HEAVY
    assert statement.split()[1] in modules


def test_data_sets_load_no_compiler():
    modules = loaded("import graphc.dataset\ngraphc.dataset.NumpySlicesDataset([1])")
    assert not modules & {"graphc.nn", "graphc.trace", "graphc.passes", "graphc.lower", "graphc.train"}


def test_the_generators_contract_loads_nothing_of_graphc():
    assert not [m for m in loaded("import graphc_codegen.program") if m == "graphc" or m.startswith("graphc.")]


# ---- the environment


def reads_environment(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb"):
            return True
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {a.name for a in node.names} & {"environ", "getenv"}
        ):
            return True
    return False


def test_the_environment_is_read_in_one_place():
    assert {name(p) for p in GRAPHC + CODEGEN if reads_environment(p)} == set(ENVIRONMENT)


def test_every_switch_is_documented():
    text = (ROOT / "graphc" / "debug.py").read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    used = set(re.findall(r'"(GRAPHC_\w+)"', text))
    assert used
    assert used <= set(re.findall(r"GRAPHC_\w+", docstring))


# ---- error codes


def codes_in(path: Path) -> set[str]:
    """Codes in string literals that are codes and nothing else."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return {t for t in texts if re.fullmatch(r"GC\d\d\d", t)}


def test_every_code_is_declared_and_used():
    used = set().union(*(codes_in(p) for p in GRAPHC if p.name != "errors.py"))
    classes = set(
        re.findall(r'default_code = "(GC\d\d\d)"', (ROOT / "graphc/errors/classes.py").read_text(encoding="utf-8"))
    )
    assert used - set(CODES) == set()
    assert set(CODES) - used - classes == set()


def test_codes_in_documents_exist():
    for path in (ROOT / "docs").glob("*.md"):
        found = set(re.findall(r"\bGC\d\d\d\b", path.read_text(encoding="utf-8")))
        assert found <= set(CODES), path.name


# ---- size and style


@pytest.mark.parametrize("path", GRAPHC + CODEGEN + TESTS, ids=name)
def test_files_are_small(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 520


@pytest.mark.parametrize("path", GRAPHC + CODEGEN, ids=name)
def test_modules_say_what_they_are(path):
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_no_file_speaks_of_unfinished_work():
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [name(p) for p in GRAPHC + CODEGEN if words.search(p.read_text(encoding="utf-8"))]
    assert not found


def names_of_builtins_lost(function: ast.AST) -> set[str]:
    """Builtins that one comprehension of a function binds and another part of it calls: up to Python 3.12.3 at least, which makes
    comprehensions part of the function, the call finds the comprehension's variable, and that it has no value.
    """
    bound = {
        name.id
        for each in ast.walk(function)
        if isinstance(each, ast.ListComp | ast.SetComp | ast.DictComp)
        for part in each.generators
        for name in ast.walk(part.target)
        if isinstance(name, ast.Name)
    }
    called = {
        each.func.id for each in ast.walk(function) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return bound & called & set(dir(builtins))


@pytest.mark.parametrize("path", GRAPHC + CODEGEN + TESTS, ids=name)
def test_no_comprehension_takes_a_builtin_from_its_function(path):
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    assert not [(each.name, lost) for each in functions if (lost := names_of_builtins_lost(each))]


@pytest.mark.parametrize("path", [p for p in GRAPHC if p.parent.name == "functional"], ids=str)
def test_functions_broadcast_shapes_in_one_place(path):
    """NumPy's own says "shape mismatch": rules.broadcast_shapes names the function and shows the shapes in columns."""
    assert "np.broadcast_shapes" not in path.read_text(encoding="utf-8")


def test_the_check_of_comprehensions_can_fail():
    assert names_of_builtins_lost(ast.parse("def f(xs, ys): return {id for id in xs}, [id(y) for y in ys]")) == {"id"}
