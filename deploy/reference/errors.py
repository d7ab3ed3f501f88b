# SPDX-License-Identifier: MIT
"""errors - ref/errors.md: the RESP errors in the sources of the server, and the statuses of frames, each with cause and action.

A text or a status without an entry in error_entries.py is an error of make docs, and of test_reference.py."""

import re

from error_entries import RESP, STATUSES
from text import ROOT, cell, escaped, head, source

LITERAL = r'"(?:[^"\\]|\\.)*"'
CONSTANT = r"\b(?:SW_|PRI)\w+\b|\b[A-Z][A-Z_]{3,}\b"
TEXT = re.compile(rf"(?:{LITERAL}|{CONSTANT})(?:[\s\\]*(?:{LITERAL}|{CONSTANT}))*")
FORMATS = r"%[-.*0-9]*(?:ll|z|j)?[a-z]"


def sources():
    """The sources of the server without comments; of a #define the name is left out."""
    for path in sorted((ROOT / "server").rglob("*")):
        if path.suffix in (".c", ".h", ".inl"):
            yield re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)


def macros(texts):
    return {match[1]: match[2] for text in texts
            for match in re.finditer(rf"#define (\w+)[ \\\n]+((?:{LITERAL}|SW_\w+)(?:[\s\\]*(?:{LITERAL}|SW_\w+))*)", text)}


def flat(code, known):
    """The text that some literals and macros make."""
    parts = []
    for word in re.findall(rf"{LITERAL}|\w+", code):
        if word.startswith('"'):
            parts.append(word[1:-1].replace('\\"', '"').replace("\\r\\n", ""))
        elif word in known:
            parts.append(flat(known[word], known))
        else:
            parts.append("llu" if word.startswith("PRI") else "..")
    return "".join(parts)


def resp_texts():
    """Each RESP error of the server: it begins with one of the words of error_replies.h."""
    texts = list(sources())
    known = macros(texts)
    words = re.findall(r"X\((\w+)\)", source("server/observe/error_replies.h"))
    begin = re.compile(rf"-?(?:{'|'.join(words)}) \S")
    found = {flat(match[0], known).lstrip("-") for text in texts for match in TEXT.finditer(re.sub(r"#define \w+", ";", text))
             if begin.match(flat(match[0], known))}
    return sorted(text for text in found if not re.fullmatch(rf"ERR (?:{FORMATS}|[: ])+", text))


def statuses():
    """(name, meaning) of the statuses of frames."""
    body = re.search(r"^enum Status \{(.*?)^\}", source("proto/sherwood.proto"), re.M | re.S).group(1)
    for name, number, comment in re.findall(r"^  (\w+) = (\d+); *((?://[^\n]*\n\s*)*)", body, re.M):
        if number != "0":
            yield name, number, " ".join(comment.replace("//", " ").split())


def page(_build):
    texts = resp_texts()
    lines = head("Errors", "the sources of the server and deploy/reference/error_entries.py",
                 "Find the text of an error here by a few of its words. `%s`, `%d` and the like stand for a value.",
                 "After `ERR`, some errors have a reason of another part of the server: of users, options or replication. This page does not list\n"
                 "these reasons. The server counts errors by their first word: `INFO errorstats`, and `sherwood_error_replies_total` in [Metrics](metrics.md).")
    lines += ["## RESP", ""]
    entries = {}
    for text in texts:
        entry = next((entry for entry in RESP if re.search(entry[0], text)), None)
        if entry is None:
            raise SystemExit(f"deploy/reference/error_entries.py has no entry for the error: {text}")
        entries.setdefault(entry, []).append(text)
    for entry in RESP:
        if entry in entries:
            lines += [f"**Cause:** {entry[1]}", "", f"**Action:** {entry[2]}", "", *(f"- {cell(text)}" for text in entries[entry]), ""]
    lines += ["## Statuses of bulk frames", "", "A reply has a status and, in its message, a text like those above without their first word.", "",
              "| status | number | meaning | action |", "| --- | --- | --- | --- |"]
    for name, number, meaning in statuses():
        lines.append(f"| `{name}` | {number} | {escaped(meaning)} | {STATUSES[name]} |")
    return lines
