"""How figures are drawn: colours, type, and one drawing as SVG (light and dark) and PNG."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from contrafact.report.visible import visible_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

__all__ = ["Draw", "Figure", "Theme", "render"]

Theme = Literal["light", "dark"]

# Okabe and Ito's palette, which the colour-blind tell apart, darkened for text on paper.
_COLOURS: dict[Theme, dict[str, str]] = {
    "light": {
        "ink": "#1c2127",
        "muted": "#5d6670",
        "grid": "#dfe3e8",
        "risk": "#c8521b",
        "opportunity": "#1f6fb2",
        "headline": "#8a929c",
        "third": "#1b8a6b",
    },
    "dark": {
        "ink": "#e8eaed",
        "muted": "#a5adb8",
        "grid": "#343b44",
        "risk": "#f08a4b",
        "opportunity": "#62aef0",
        "headline": "#9aa3ad",
        "third": "#4fc3a1",
    },
}
_WIDTH = 7.6


@dataclass(frozen=True)
class Figure:
    """A drawn figure.

    Attributes:
        key: Its file name without a suffix.
        title: What it shows.
        caption: How to read it.
        alt: What it shows, in words and numbers, for a reader who cannot see it.
        svg: The drawing for a light page.
        svg_dark: The same for a dark page.
        png: The drawing as pixels.
    """

    key: str
    title: str
    caption: str
    alt: str
    svg: bytes
    svg_dark: bytes
    png: bytes


Draw = Callable[["Plot", dict[str, str]], None]


@contextmanager
def _style(colours: dict[str, str]) -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "text.color": colours["ink"],
        "axes.labelcolor": colours["muted"],
        "axes.edgecolor": colours["grid"],
        "xtick.color": colours["muted"],
        "ytick.color": colours["ink"],
        "ytick.major.size": 0,
        "xtick.major.size": 0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
        "axes.axisbelow": True,
        "grid.color": colours["grid"],
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        # Names of systems are data: a dollar sign in one must not start a formula.
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "contrafact",
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A name in a script the bundled font lacks is drawn as boxes; the page has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def render(key: str, title: str, caption: str, alt: str, draw: Draw, *, height: float) -> Figure:
    """Draw a figure for light pages, dark pages and paper.

    Args:
        key: Its file name without a suffix.
        title: What it shows.
        caption: How to read it.
        alt: What it shows in words, for a reader who cannot see it.
        draw: Draws it, given an empty plot and the theme's colours.
        height: In inches; the width is always the same.
    """

    def drawn(theme: Theme, kinds: tuple[str, ...]) -> Iterator[bytes]:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Plot

        colours = _COLOURS[theme]
        with _style(colours):
            plot = Plot(figsize=(_WIDTH, height), layout="constrained")
            FigureCanvasAgg(plot)
            draw(plot, colours)
            for kind in kinds:
                sink = io.BytesIO()
                see_through = kind == "svg"
                plot.savefig(
                    sink,
                    format=kind,
                    dpi=200,
                    transparent=see_through,
                    metadata={"Date": None} if kind == "svg" else {"Software": None},
                )
                yield sink.getvalue()
                # What was laid out once stays where it is: to lay out is half of the work.
                plot.set_layout_engine(None)

    svg, png = drawn("light", ("svg", "png"))
    (svg_dark,) = drawn("dark", ("svg",))
    return Figure(
        key=key,
        title=title,
        caption=caption,
        alt=visible_text(alt),
        svg=svg,
        svg_dark=svg_dark,
        png=png,
    )
