"""A picture of a report: one figure, as PNG beside the page and as SVG in it."""

import io
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure under the name of its file, without suffix."""

    name: str
    figure: Figure

    def save_png(self, folder: Path) -> Path:
        """Write `<name>.png` and return its path."""
        path = folder / f"{self.name}.png"
        self.figure.savefig(path, format="png", dpi=120)
        return path

    def svg(self) -> str:
        """The `<svg>` element."""
        out = io.StringIO()
        self.figure.savefig(out, format="svg")
        text = out.getvalue()
        return text[text.index("<svg") :]
