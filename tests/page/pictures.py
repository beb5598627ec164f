"""The pictures in docs/pictures, as Chromium shows the pages. `python -m tests.page.pictures` makes them anew."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from tests.page.looking import opened, press
from tests.page.steps import measured, workload
from tests.report.browser import Browser

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
#: Bytes of one picture at most.
MOST = 150_000


class Picture(NamedTuple):
    """A page and what is done with it: the workload and layers of its step, the window, a link, keys."""

    workload: str
    layers: int = 4
    width: int = 1280
    height: int = 800
    dark: bool = False
    at: str = ""
    keys: str = ""


PICTURES = {
    "step": Picture("lenet", height=880),
    "gpt": Picture("gpt", layers=24, width=1440, height=1000),
    "node": Picture("lenet", at="#%21", height=880),
    "memory": Picture("resnet20", at="#memory", height=640),
    "passes": Picture("lenet", at="#passes/4", height=560),
    "dark": Picture("resnet20", dark=True, keys="t", width=1440, height=900),
    "phone": Picture("lenet", width=390, height=844),
}


def draw(browser: Browser, name: str, folder: Path) -> Path:
    """One picture as folder/name.png, in 256 colours."""
    picture = PICTURES[name]
    page = workload(picture.workload, picture.layers, measured).page(folder / f"{name}.html")
    opened(browser, page, picture.width, picture.height, dark=picture.dark, at=picture.at)
    press(browser, *picture.keys)
    raw = browser.picture(folder / f"{name}.png", whole=False)
    drawn = Image.open(io.BytesIO(raw.read_bytes())).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    drawn.save(raw, optimize=True)
    page.unlink()
    return raw


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    with Browser() as window:
        for each in PICTURES:
            made = draw(window, each, FOLDER)
            print(made.name, made.stat().st_size)
