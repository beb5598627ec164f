"""Rules of the source tree, read from the files: who may import whom, where the environment is read, error codes, sizes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphc.errors import CODES

ROOT = Path(__file__).parent.parent
GRAPHC = sorted((ROOT / "graphc").rglob("*.py"))
CODEGEN = sorted((ROOT / "codegen" / "graphc_codegen").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

BASE = {"graphc.attached", "graphc.errors", "graphc.debug", "graphc.dispatch", "graphc.context", "graphc.files"}
IR = BASE | {"graphc.ir"}
OPS = IR | {"graphc.ops"}
NN = OPS | {"graphc.nn"}
#: What each part may import; imports inside functions count. What is not named here stands above all of these.
ALLOWED = {
    "graphc.attached": set(),
    "graphc.errors": set(),
    "graphc.debug": set(),
    "graphc.dispatch": set(),
    "graphc.files": {"graphc.errors"},
    "graphc.context": {"graphc.errors"},
    "graphc.ir": BASE,
    "graphc.ops": IR,
    "graphc.nn": OPS,
    "graphc.trace": NN,
    "graphc.passes": OPS,
    "graphc.lower": OPS | {"graphc_codegen.program"},
    "graphc.inspect": OPS,
    "graphc.guards": NN | {"graphc.trace"},
}
#: Files that may import more inside functions, and why.
LAZY = {
    "graphc/cli/": "commands compile the user's cells: they load the compiler when they run, not when they are listed",
    "graphc/ops/": "a function of tensors and the classes it makes would import each other",
}
#: Third parties, and who may import them.
OUTSIDE = {
    "networkx": ("graphc/ir/", "graphc/ops/", "graphc/passes/", "graphc/inspect/"),
    "numba": ("codegen/",),
    "llvmlite": ("codegen/", "graphc/cli/doctor.py"),
    "jinja2": ("codegen/",),
    "malt": ("graphc/trace/",),
}
#: Reads of the environment outside graphc.debug, and why.
ENVIRONMENT = {
    "graphc/debug.py": "the switches",
    "graphc/cli/commands.py": "NO_COLOR, which is no switch of graphc's",
    "codegen/graphc_codegen/cache.py": "XDG_CACHE_HOME: where caches are kept on this machine",
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def part(path: Path) -> str:
    """The part of graphc a file belongs to: `graphc.ir`; `graphc` for its __init__."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    return "graphc" if inside[1] == "__init__" else ".".join(inside[:2])


def imports(path: Path) -> Iterator[tuple[str, int, bool]]:
    """(dotted name, line, whether inside a function) of everything a file imports."""
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
            yield from ((alias.name, node.lineno, id(node) in lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                assert path in TESTS, f"{name(path)}:{node.lineno}: a relative import"
                continue
            whole = node.module or ""
            names = [f"{whole}.{a.name}" for a in node.names] if whole == "graphc" else [whole]
            yield from ((n, node.lineno, id(node) in lazy) for n in names)


def imported_part(dotted: str) -> str:
    return ".".join(dotted.split(".")[:2])


def excused(path: Path, lazy: bool) -> bool:
    return lazy and any(name(path).startswith(folder) for folder in LAZY)


@pytest.mark.parametrize("path", GRAPHC, ids=name)
def test_import_direction(path):
    own = part(path)
    allowed = ALLOWED.get(own)
    wrong = []
    for dotted, line, lazy in imports(path):
        if dotted.split(".")[0] not in ("graphc", "graphc_codegen") or allowed is None or excused(path, lazy):
            continue
        target = imported_part(dotted)
        if target != own and target not in allowed:
            wrong.append(f"{name(path)}:{line} imports {dotted}")
    assert not wrong


def test_the_check_of_imports_can_fail():
    path = ROOT / "graphc" / "api.py"
    found = {imported_part(dotted) for dotted, _, _ in imports(path)}
    assert {"graphc.trace", "graphc.lower", "graphc.passes"} <= found - ALLOWED["graphc.lower"]
    assert part(path) == "graphc.api"
    assert part(ROOT / "graphc" / "__init__.py") == "graphc"


@pytest.mark.parametrize("path", CODEGEN, ids=name)
def test_the_generator_never_imports_graphc(path):
    assert not [d for d, _, _ in imports(path) if d.split(".")[0] == "graphc"]


@pytest.mark.parametrize("path", GRAPHC + CODEGEN, ids=name)
def test_third_parties(path):
    for dotted, line, _ in imports(path):
        allowed = OUTSIDE.get(dotted.split(".")[0])
        if allowed is not None:
            assert name(path).startswith(allowed), f"{name(path)}:{line} imports {dotted}"


@pytest.mark.parametrize("path", GRAPHC + CODEGEN + TESTS, ids=name)
def test_nobody_imports_the_folder_instead_of_the_package(path):
    assert not [d for d, _, _ in imports(path) if d.split(".")[0] == "codegen"]


# ---- what an import loads


def loaded(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'codegen')]!r}\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


HEAVY = {"numba", "llvmlite", "jinja2", "codegen", "malt"}


@pytest.mark.parametrize(
    "statement",
    [
        "import graphc.ir",
        "import graphc",
        "import graphc_codegen.program",
        "import graphc.cli.main",
        "import graphc.trace",
    ],
)
def test_imports_stay_light(statement):
    modules = loaded(statement)
    assert not modules & HEAVY
    assert statement.split()[1] in modules


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
    classes = set(re.findall(r'default_code = "(GC\d\d\d)"', (ROOT / "graphc/errors.py").read_text(encoding="utf-8")))
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
