"""What a terminal would obey does not reach it: names and file text are escaped in messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn
from graphc.cli.main import main
from graphc.errors import GraphcError, printable
from graphc.ir import parse

HOSTILE = "a\x1b[2J\x1b]0;title\x07\r\n\x9b31m\u202eb\udc80"
ESCAPED = r"a\x1b[2J\x1b]0;title\x07\r\n\x9b31m\u202eb\udc80"


def check(error: GraphcError) -> str:
    text = str(error)
    assert all(line.isprintable() for line in text.split("\n")), repr(text)
    text.encode()
    return text


def test_printable() -> None:
    assert printable(HOSTILE) == ESCAPED
    assert printable("Größe 权\tx") == "Größe 权\tx"


def test_names_of_parameters(tmp_path: Path) -> None:
    net = nn.Dense(2, 2)
    net.weight.name = HOSTILE
    with pytest.raises(graphc.CheckpointError) as caught:
        graphc.load_param_into_net(net, {HOSTILE: Parameter(np.ones(3, np.float32))})
    assert ESCAPED in check(caught.value)
    params = [Parameter(np.ones(2), name=HOSTILE) for _ in range(2)]
    with pytest.raises(graphc.ArgumentValueError) as repeated:
        graphc.save_checkpoint(params, tmp_path / "a")
    check(repeated.value)


def test_text_of_files(tmp_path: Path) -> None:
    with pytest.raises(graphc.ParseError) as caught:
        parse(f"graph @{HOSTILE.replace(chr(10), '')} {{")
    check(caught.value)
    header = b'{"a\\u001b[2J":{"dtype":"\\u001b[2J","shape":[],"data_offsets":[0,0]}}'
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(graphc.CheckpointError) as other:
        graphc.load_checkpoint(tmp_path / "a")
    assert r"\x1b[2J" in check(other.value)


def test_notes_hints_and_files(capsys: pytest.CaptureFixture[str]) -> None:
    error = GraphcError(HOSTILE, details=[HOSTILE], help=HOSTILE)
    error.add_note(HOSTILE)
    check(error)
    assert error.__notes__ == [ESCAPED]
    with pytest.raises(AttributeError) as caught:
        getattr(nn, HOSTILE)
    check(caught.value)  # type: ignore[arg-type]
    assert main(["show", f"{HOSTILE[:4]}/no.ir"]) == 2
    assert capsys.readouterr().err.rstrip("\n").replace("\n", "").isprintable()


def test_names_in_a_step() -> None:
    net = nn.Dense(2, 2)
    net.weight.name = HOSTILE
    with pytest.raises(graphc.ShapeError) as caught:
        net(Tensor(np.ones((1, 3), np.float32)))
    assert ESCAPED in check(caught.value)
