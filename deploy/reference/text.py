# SPDX-License-Identifier: MIT
"""text - what the pages of deploy/docs/ref share: where they are, and text of sources as Markdown."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "deploy" / "docs" / "ref"


def source(path):
    return (ROOT / path).read_text(encoding="utf-8")


def head(title, made_from, *paragraphs):
    """The first lines of a page. tests/lint/prose skips pages with this comment: their text is that of the sources."""
    return [f"# {title}", "", f"<!-- written by make docs from {made_from} -->", "", *(line for text in paragraphs for line in (text, ""))]


def escaped(text):
    """Prose of a source in which no character has a meaning for Markdown, except the backticks around code."""
    return re.sub(r"(`[^`\n]+`)|([\\*_<>\[\]|~`$])", lambda match: match[1] or "\\" + match[2], text)


def cell(text):
    """A text as code in a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def paragraphs(text):
    """Prose with examples, which are indented by four spaces: paragraphs, and blocks of code between them."""
    lines, code = [], []

    def flush():
        while code and not code[-1]:
            code.pop()
        if code:
            if lines and lines[-1]:
                lines.append("")
            lines.extend(["```text", *code, "```", ""])
            code.clear()
    for line in text.split("\n"):
        if line.startswith("    ") or (code and not line.strip()):
            code.append(line[4:].rstrip())
        else:
            flush()
            lines.append(escaped(line.rstrip()))
    flush()
    while lines and not lines[-1]:
        lines.pop()
    return lines
