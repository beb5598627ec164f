"""The object cache: hits, damage, permissions, eviction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen import CacheWarning, compile_program
from graphc_codegen.object_code import cache, sources
from graphc_codegen.program import Program
from graphc_codegen.target import host
from graphc_codegen.text import render
from tests.codegen.loop_harness import AVX2
from tests.codegen.programs import chain, line
from tests.damage import EDITS, Edit, damaged

ROOT = Path(__file__).parents[3]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "objects"


def works(directory: Path, program: Program | None = None) -> bool:
    """Compile and run; returns whether the cache had the object."""
    executable = compile_program(program or line(3), cache_dir=directory)
    bound = executable.bind([], [])
    bound.run([np.zeros(8, np.float32)])
    assert bound.read(1).tolist() == [3] * 8
    return executable.cache_hit


def only(directory: Path, suffix: str) -> Path:
    (path,) = directory.glob(f"*.{suffix}")
    return path


def test_the_second_compilation_is_a_hit(directory: Path) -> None:
    assert not works(directory)
    assert works(directory)
    assert directory.stat().st_mode & 0o777 == 0o700
    described = json.loads(only(directory, "json").read_text())
    assert described["entry"] == "graphc_entry"
    assert set(described["versions"]) == {"graphc", "numba", "llvmlite"}
    assert not list(directory.glob(".*"))


def test_a_hit_imports_no_numba(directory: Path) -> None:
    works(directory)
    script = f"""
import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "codegen")!r}]
from pathlib import Path
import numpy as np
from graphc_codegen import compile_program
from tests.codegen.programs import line
executable = compile_program(line(3), cache_dir=Path({str(directory)!r}))
assert executable.cache_hit
bound = executable.bind([], [])
bound.run([np.zeros(8, np.float32)])
assert bound.read(1).tolist() == [3] * 8
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("suffix", ["o", "json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "remove"])
def test_damaged_entries_are_made_again(directory: Path, suffix: str, damage: str) -> None:
    works(directory)
    path = only(directory, suffix)
    data = path.read_bytes()
    if damage == "remove":
        path.unlink()
    elif damage == "flip":
        at = data.index(b"sha256") + 12 if suffix == "json" else len(data) // 2
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    else:
        path.write_bytes(data[: len(data) // 2] if damage == "truncate" else b"")
    assert not works(directory)
    assert works(directory)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(("o", "json")), EDITS)
def test_whatever_is_done_to_an_entry_its_objects_are_those_stored_or_none(suffix: str, edits: list[Edit]) -> None:
    objects, name = [bytes(range(256)), b"", b"object code" * 9], "a" * 64
    with tempfile.TemporaryDirectory() as folder:
        kept = cache.ObjectCache(Path(folder) / "objects")
        kept.store(name, objects, "entry")
        path = only(kept.directory, suffix)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, edits))
        found = kept.load(name)
    assert found is None or found == objects
    assert found is None or suffix == "json" or damaged(whole, edits) == whole


@pytest.mark.parametrize("content", ["[]", "null", "{}"])
def test_descriptions_that_are_no_descriptions(directory: Path, content: str) -> None:
    works(directory)
    only(directory, "json").write_text(content)
    assert not works(directory)


def test_another_entrys_files_are_no_use(directory: Path) -> None:
    works(directory)
    mine = {p.name: p.read_bytes() for p in directory.iterdir()}
    program = line(5)  # Gives 10.
    compile_program(program, cache_dir=directory)
    for name, data in mine.items():
        (other,) = (p for p in directory.glob(f"*{Path(name).suffix}") if p.name != name)
        other.write_bytes(data)
    executable = compile_program(program, cache_dir=directory)
    assert not executable.cache_hit
    bound = executable.bind([], [])
    bound.run([np.zeros(8, np.float32)])
    assert bound.read(1).tolist() == [10] * 8


@pytest.mark.parametrize("suffix", ["o", "json"])
@pytest.mark.parametrize("how", ["others", "group", "owner", "link", "pipe", "folder"])
def test_a_file_that_somebody_else_may_have_written(
    directory: Path, suffix: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    works(directory)
    path = only(directory, suffix)
    if how == "owner":
        status = os.fstat

        def of_another(handle: int) -> os.stat_result:
            found = list(status(handle))
            found[4] += os.get_inheritable(handle) or os.readlink(f"/proc/self/fd/{handle}").endswith(path.name)
            return os.stat_result(found)

        monkeypatch.setattr(os, "fstat", of_another)
    elif how in ("link", "pipe", "folder"):
        path.rename(directory.parent / path.name)
        {"link": lambda: path.symlink_to(directory.parent / path.name), "pipe": lambda: os.mkfifo(path, 0o600),
         "folder": path.mkdir}[how]()  # fmt: skip
    else:
        path.chmod({"others": 0o602, "group": 0o620}[how])
    assert cache.ObjectCache(directory).load(path.stem) is None


@pytest.mark.parametrize("suffix", ["o", "json"])
def test_files_are_read_up_to_a_bound(directory: Path, suffix: str) -> None:
    works(directory)
    path = only(directory, suffix)
    os.truncate(path, 200 << 30)  # Takes no place on the disk.
    assert not works(directory)


def test_a_description_that_nests_too_deep(directory: Path) -> None:
    works(directory)
    only(directory, "json").write_text("[" * 200_000)
    assert not works(directory)


def test_what_a_killed_process_has_left_goes(directory: Path) -> None:
    works(directory)
    for name, age in ((".old.part", 3600), (".new.part", 0)):
        (directory / name).write_bytes(bytes(100))
        os.utime(directory / name, (time.time() - age,) * 2)
    cache.ObjectCache(directory).store("k", [bytes(8)], "graphc_entry")
    assert [p.name for p in directory.glob(".*")] == [".new.part"]


def test_a_directory_that_others_can_write_is_not_used(directory: Path) -> None:
    works(directory)
    directory.chmod(0o755)  # What mkdir makes: others may read.
    assert works(directory)
    directory.chmod(0o775)
    with pytest.warns(CacheWarning, match="other users may write") as said:
        assert not works(directory)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not works(directory)  # said once
    directory.chmod(0o700)
    assert works(directory)


def test_a_directory_of_somebody_else_is_not_used(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works(directory)
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert not works(directory)


def test_a_path_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheWarning, match="cannot use"):
        assert not works(tmp_path / "file")


def test_a_cache_that_cannot_be_written(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(CacheWarning, match="no space left"):
        assert not works(directory)
    assert not list(directory.iterdir())


def test_concurrent_writers(directory: Path) -> None:
    script = f"""
import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / "codegen")!r}]
from pathlib import Path
from graphc_codegen.object_code.cache import ObjectCache
store = ObjectCache(Path({str(directory)!r}))
for _ in range(150):
    store.store("k", [b"x" * 100_000, b"y"], "graphc_entry")
    assert store.load("k") == [b"x" * 100_000, b"y"]
"""
    writers = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
    assert [w.wait() for w in writers] == [0, 0]
    assert sorted(p.name for p in directory.iterdir()) == ["k.json", "k.o"]


def test_the_key_depends_on_everything_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    target = host()

    def key(program: Program) -> str:
        return cache.key(render.render(program, target).key_material, target.key)

    assert key(line(3)) == key(line(3))
    keys = {key(line(3)), key(line(4)), key(replace(line(3), name="other")), key(chain())}
    keys.add(cache.key(render.render(line(3), target).key_material, AVX2.key))
    texts = render.render(line(3), target).key_material
    keys.add(cache.key(("".join(texts),), target.key))
    monkeypatch.setattr(cache, "versions", lambda: {"numba": "0"})
    keys.add(key(line(3)))
    assert len(keys) == 7


def test_a_generator_that_was_edited_keeps_nothing(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    works(directory)
    monkeypatch.setattr(sources, "_IMPORTED", 0.0)
    sources.fingerprint.cache_clear()
    try:
        with pytest.warns(CacheWarning, match="changed since it was imported"):
            assert not works(directory)
    finally:
        sources.fingerprint.cache_clear()


def test_the_key_depends_on_the_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key(("x",), "target")
    monkeypatch.setattr(cache, "fingerprint", lambda: "other")
    assert cache.key(("x",), "target") != before


def test_programs_that_share_their_texts_do_not_share_objects() -> None:
    """A hit is not validated again, so the key has what `validate` looks at."""
    program, target = line(3), host()
    material = render.render(program, target).key_material
    smaller = replace(program, buffers=tuple(replace(b, shape=(4,)) for b in program.buffers))
    for other in (smaller, replace(program, arena=program.arena + 64), replace(program, threads=2)):
        assert render.render(other, target).key_material != material


def test_the_oldest_objects_go_first(directory: Path) -> None:
    store = cache.ObjectCache(directory, limit=250)
    for k in range(4):
        store.store(f"k{k}", [bytes(100)], "graphc_entry")
        os.utime(directory / f"k{k}.o", (1000 + k, 1000 + k))
    assert [store.load(f"k{k}") is not None for k in range(4)] == [False, False, True, True]
    store.store("large", [bytes(1000)], "graphc_entry")
    assert store.load("large") == [bytes(1000)]
    assert sorted(p.name for p in directory.iterdir()) == ["large.json", "large.o"]


def test_the_default_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.default_directory() == tmp_path / "graphc"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache.default_directory() == tmp_path / ".cache" / "graphc"


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    with pytest.warns(CacheWarning, match="no home directory"):
        assert cache.default_directory() is None


def test_a_full_disk_is_said_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = cache.ObjectCache(directory)
    monkeypatch.setattr(os, "replace", lambda a, b: os.rmdir(a))  # An error that names the temporary file.
    with pytest.warns(CacheWarning, match="cannot write"):
        store.store("k", [b"x"], "graphc_entry")
    store.store("other", [b"x"], "graphc_entry")  # Warnings are errors here.
