"""Compiled steps as pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphc.errors import ArgumentTypeError, user_loc

if TYPE_CHECKING:
    from graphc.inspect.record import Record
    from graphc.ir import Graph
    from graphc.page import Material


class Shown:
    """What has a record, generated code and passes, and can be shown as a page, but not copied."""

    if TYPE_CHECKING:

        @property
        def passes(self) -> list[tuple[str, Graph]]: ...
        @property
        def source(self) -> str: ...
        @property
        def kernels(self) -> str: ...
        def record(self) -> Record: ...

    def __reduce__(self) -> Any:
        raise ArgumentTypeError(
            "a compiled step cannot be copied or pickled: it is machine code that writes the parameters of its cell",
            loc=user_loc(),
            help="copy or pickle the cell and compile that: its machine code comes from the cache",
        )

    def page(self, path: str | Path) -> Path:
        """Write one offline HTML file that shows the step: forward, gradient, check and update row by row; docs/seeing.md.

        It appears complete or not at all; folders are made. Returns its path. Raises ArgumentValueError if a parent of it is
        a file, OSError.
        """
        from graphc.page import write_page  # Here, so that a start without pages is quick.

        return write_page(self.record(), path, self._material())

    def _material(self) -> Material:
        from graphc.page import material_of  # Pages are rare.

        return material_of(self.source, self.kernels, self.passes)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page."""
        from graphc.page import embedded  # Pages are rare.

        return embedded(self.record(), self._material())
