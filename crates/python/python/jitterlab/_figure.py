"""Figures."""

from __future__ import annotations

import os
from pathlib import Path

from . import _native


class Figure:
    """A figure, which a notebook shows by itself."""

    def __init__(self, drawn: _native.Drawn) -> None:
        self._drawn = drawn
        self.svg = drawn.svg()
        """The figure as SVG."""

    def png(self) -> bytes:
        """The figure as PNG."""
        return self._drawn.png()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, as PNG where the name ends so, else as SVG. A file of that name is replaced."""
        is_png = os.fspath(path).lower().endswith(".png")
        Path(path).write_bytes(self.png() if is_png else self.svg.encode())

    def _repr_svg_(self) -> str:
        return self.svg
