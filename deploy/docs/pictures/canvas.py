# SPDX-License-Identifier: MIT
"""canvas.py - an SVG picture of boxes, arrows and text that is readable in light and dark themes.

A picture has a background of its own, so it needs no help from the page around it. Text stays text in the reader's own font.
"""

import html
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
STYLE = """\
text { font-family: system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", Arial, sans-serif; fill: var(--text); font-size: 13px }
.small { font-size: 11.5px; fill: var(--soft) } .bold { font-weight: 600 } .head { font-weight: 600; font-size: 15px }
.middle { text-anchor: middle } .end { text-anchor: end }
.code { font-family: ui-monospace, "Liberation Mono", "DejaVu Sans Mono", Consolas, monospace; font-size: 11.5px; fill: var(--soft) }
.page { fill: var(--page) } .box { fill: var(--box); stroke: var(--line) } .frame { fill: none; stroke: var(--line); stroke-dasharray: 5 4 }
.line { stroke: var(--line); fill: none } .faint { stroke: var(--faint); fill: none } .arrow { stroke: var(--text); fill: none; stroke-width: 1.4 }
.tip { fill: var(--text) } .broken { stroke: var(--red); fill: none; stroke-width: 1.6; stroke-dasharray: 4 4 }
"""
COLOURS = ("blue", "orange", "green", "red", "violet", "teal", "yellow")
LIGHT = {"page": "#ffffff", "text": "#1f2328", "soft": "#57606a", "box": "#f3f5f8", "line": "#8b949e", "faint": "#d8dee4",
         "blue": "#2f6fbf", "orange": "#b85c00", "green": "#217a3c", "red": "#c0343b", "violet": "#8a3fb0", "teal": "#13767a",
         "yellow": "#8a6d00"}
DARK = {"page": "#16191d", "text": "#e6e9ed", "soft": "#a3acb6", "box": "#22272e", "line": "#768390", "faint": "#343b44",
        "blue": "#6aa5ee", "orange": "#f0a35e", "green": "#63c07e", "red": "#f0787d", "violet": "#c792e6", "teal": "#55c3c6",
        "yellow": "#d9bb4e"}


def variables(colours):
    return "svg { " + "; ".join(f"--{name}: {value}" for name, value in colours.items()) + " }"


def style():
    fills = " ".join(f".{c} {{ fill: var(--{c}) }} .{c}-line {{ stroke: var(--{c}); fill: none; stroke-width: 2 }} "
                     f".{c}-wash {{ fill: var(--{c}); fill-opacity: .18; stroke: var(--{c}) }}\n" for c in COLOURS)
    return f"{variables(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {variables(DARK)} }}\n{STYLE}{fills}".replace("\n ", "\n")


def number(value):
    return f"{value:.1f}".removesuffix(".0")


def named(path):
    """A path of the repository in a picture. A picture that names a file of the past is not drawn."""
    if not (ROOT / path).exists():
        raise SystemExit(f"deploy/docs/pictures/draw: {path} does not exist: name its successor")
    return path


def constant(path, name):
    """The integer that a header defines."""
    found = re.search(rf"^#define {name} (\d+)U?L*\b", (ROOT / path).read_text(encoding="utf-8"), flags=re.M)
    if not found:
        raise SystemExit(f"deploy/docs/pictures/draw: {path} does not define {name} as a number")
    return int(found.group(1))


class Picture:
    def __init__(self, width, height, title, description):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.parts = []

    def add(self, tag, classes, **attributes):
        values = "".join(f' {name.replace("_", "-")}="{number(v) if isinstance(v, (int, float)) else v}"' for name, v in attributes.items())
        self.parts.append(f'<{tag} class="{classes}"{values}/>')

    def text(self, x, y, words, classes=""):
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"' + (f' class="{classes}"' if classes else "") +
                          f">{html.escape(words, quote=False)}</text>")

    def lines(self, x, y, rows, classes="", step=16):
        for i, row in enumerate(rows):
            self.text(x, y + i * step, row, classes)

    def rect(self, x, y, width, height, classes="box", round_by=4):
        self.add("rect", classes, x=x, y=y, width=width, height=height, rx=round_by)

    def box(self, x, y, width, height, head, rows=(), classes="box"):
        """A box with a name and lines; a line that begins with a backquote is code."""
        self.rect(x, y, width, height, classes)
        self.text(x + width / 2, y + 19, head, "bold middle")
        for i, row in enumerate(rows):
            self.text(x + width / 2, y + 37 + 15 * i, row.lstrip("`"), "code middle" if row.startswith("`") else "small middle")

    def line(self, x1, y1, x2, y2, classes="line"):
        self.add("line", classes, x1=x1, y1=y1, x2=x2, y2=y2)

    def arrow(self, x1, y1, x2, y2, classes="arrow"):
        """A straight arrow with its tip at the second point."""
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** .5, 1e-9)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        self.line(x1, y1, x2 - 6 * dx, y2 - 6 * dy, classes)
        tips = [(x2, y2), (x2 - 8 * dx - 4 * dy, y2 - 8 * dy + 4 * dx), (x2 - 8 * dx + 4 * dy, y2 - 8 * dy - 4 * dx)]
        colour = classes.removesuffix("-line") if classes.endswith("-line") else "red" if classes == "broken" else "tip"
        self.add("polygon", colour, points=" ".join(f"{number(x)},{number(y)}" for x, y in tips))

    def path(self, points, classes):
        self.add("polyline", classes, points=" ".join(f"{number(x)},{number(y)}" for x, y in points))

    def svg(self):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" role="img" aria-labelledby="title desc">\n'
                "<!-- SPDX-License-Identifier: MIT. Written by deploy/docs/pictures/draw: change that program. -->\n"
                f'<title id="title">{html.escape(self.title)}</title>\n<desc id="desc">{html.escape(self.description)}</desc>\n'
                f"<style>\n{style()}</style>\n"
                f'<rect class="page" width="{self.width}" height="{self.height}" rx="6"/>\n')
        return head + "\n".join(self.parts) + "\n</svg>\n"
