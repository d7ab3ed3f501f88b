# SPDX-License-Identifier: MIT
"""errors - ref/errors.md: the RESP errors in the sources of the server, the statuses of frames, and the messages that errors, frames
and the log show, each with what to do.

A text or a status without an entry in error_entries.py or reason_entries.py is an error of make docs, and of test_reference.py."""

import re

from error_entries import RESP, STATUSES
from messages import LITERAL, flat, macros, messages, sources
from reason_entries import GROUPS, PARTS
from text import ROOT, cell, escaped, head, source

CONSTANT = r"\b(?:SW_|PRI)\w+\b|\b[A-Z][A-Z_]{3,}\b"
TEXT = re.compile(rf"(?:{LITERAL}|{CONSTANT})(?:[\s\\]*(?:{LITERAL}|{CONSTANT}))*")
FORMATS = r"%[-.*0-9]*(?:ll|z|j)?[a-z]"


def resp_texts():
    """Each RESP error of the server: it begins with one of the words of error_replies.h."""
    texts = [text for path, text in sources(ROOT) if path.startswith("server/")]
    known = macros(texts)
    words = re.findall(r"X\((\w+)\)", source("server/observe/error_replies.h"))
    begin = re.compile(rf"-?(?:{'|'.join(words)}) \S")
    shown = (flat(re.findall(rf"{LITERAL}|\w+", match[0]), known).lstrip("-")
             for text in texts for match in TEXT.finditer(re.sub(r"#define \w+", ";", text)))
    return sorted({text for text in shown if begin.match(text) and not re.fullmatch(rf"ERR (?:{FORMATS}|[: ])+", text)})


def grouped_messages(root=ROOT):
    """[(group, {entry: its texts})] of the messages in the sources."""
    found = [{} for _ in GROUPS]
    for path, text in messages(root):
        if re.search(PARTS, text):
            continue
        number = next((number for number, group in enumerate(GROUPS) if re.match(group[2], path)), None)
        entry = next((entry for entry in GROUPS[number][3] if re.search(entry[0], text)), None) if number is not None else None
        if entry is None:
            raise SystemExit(f"deploy/reference/reason_entries.py has no entry for the message of {path}: {text}")
        found[number].setdefault(entry, set()).add(text)
    return list(zip(GROUPS, found))


def statuses():
    """(name, meaning) of the statuses of frames."""
    body = re.search(r"^enum Status \{(.*?)^\}", source("proto/sherwood.proto"), re.M | re.S).group(1)
    for name, number, comment in re.findall(r"^  (\w+) = (\d+); *((?://[^\n]*\n {8,}(?=//))*(?://[^\n]*)?)", body, re.M):
        if number != "0":
            yield name, number, " ".join(comment.replace("//", " ").split())


def page(_build):
    texts = resp_texts()
    lines = head("Errors", "the sources of the server, deploy/reference/error_entries.py and reason_entries.py",
                 "Find the text of an error here by a few of its words. `%s`, `%d` and the like stand for a value.",
                 "An error of RESP begins with a word in capitals: see [RESP](#resp). Other texts are reasons: of `ERR`, in the message of a bulk frame,\n"
                 "or in the log. They have a section for each part of the server. If `sherwoodd` does not start, begin with\n"
                 "[options and files](#start-options-and-files).",
                 "The server counts errors by their first word: `INFO errorstats`, and `sherwood_error_replies_total` in [Metrics](metrics.md).")
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
    lines += ["## Statuses of bulk frames", "", "A reply has a status and a message. The [messages](#messages-of-bulk-frames) say more than the status.", "",
              "| status | number | meaning | action |", "| --- | --- | --- | --- |"]
    for name, number, meaning in statuses():
        lines.append(f"| `{name}` | {number} | {escaped(meaning)} | {STATUSES[name]} |")
    for (title, about, _, group), found in grouped_messages():
        lines += ["", f"## {title}", "", about, ""]
        for entry in group:
            if entry in found:
                lines += [f"**Action:** {entry[1]}", "", *(f"- {cell(text)}" for text in sorted(found[entry])), ""]
    return lines
