# SPDX-License-Identifier: MIT
"""c_api - ref/c.md: the declarations of client/sherwood*.h with their comments."""

import re

from text import ROOT, escaped, head, paragraphs

FIRST = ("sherwood.h", "sherwood-words.h", "sherwood-times.h")
PIECE = re.compile(r"(?P<comment>^/\*.*?\*/\n)|(?P<define>^#define (?:[^\n]*\\\n)*[^\n]*\n)|(?P<other>^#[^\n]*\n)|(?P<blank>^\s*\n)"
                   r"|(?P<inline>^static inline .*?^}\n)|(?P<extern>^(?:extern \"C\" \{|\})\n)|(?P<declaration>^\S.*?;[^\n;]*\n(?=\S|\n))", re.M | re.S)


def words_of(comment):
    """The text of a comment. Its examples stay indented by four spaces."""
    text = re.sub(r"^/\*+ ?|\s*\*/\s*$", "", comment)
    return "\n".join(re.sub(r"^ \* ?", "", line) for line in text.split("\n")).strip("\n")


def names(declarations):
    """What the heading of some declarations names: functions first."""
    text = re.sub(r"/\*.*?\*/", "", declarations, flags=re.S)
    found = re.findall(r"\b(sherwood_\w+)\(", text) or re.findall(r"^(?:struct|enum) (\w+)", text, re.M) or re.findall(r"#define (\w+)", text)
    return list(dict.fromkeys(found))


def entries(text):
    """(comment, declarations) in the order of the header."""
    comment, code = "", []
    for piece in PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "comment":
            if code or comment:
                yield comment, "".join(code)
            comment, code = words_of(piece.group()), []
        elif kind in ("define", "declaration"):
            code.append(piece.group())
        elif kind == "inline":
            code.append(re.sub(r"\n\{.*", ";\n", piece.group(), flags=re.S))
        elif kind == "blank" and code:
            yield comment, "".join(code)
            comment, code = "", []
    if code or comment:
        yield comment, "".join(code)


def page(_build):
    lines = head("C: libsherwood", "client/sherwood*.h",
                 "libsherwood is the C client: arrays of keys in, arrays of values out. Include `sherwood.h`, which includes the others, and link\n"
                 "with `-lsherwood` (`pkg-config sherwood`). `sherwood-cuda.h` needs `-lsherwood-cuda` as well.",
                 "| task | calls |\n| --- | --- |\n"
                 "| connect and close | `sherwood_connect`, `sherwood_connect_cluster`, `sherwood_close` |\n"
                 "| read, write, remove | `sherwood_get`, `sherwood_set`, `sherwood_delete` |\n"
                 "| arithmetic, bits, any other operation | `sherwood_run`; `sherwood_add` for rows; `sherwood_cas` |\n"
                 "| requests in flight | `sherwood_submit`, `sherwood_wait`, `sherwood_poll` |\n"
                 "| expiry | `sherwood_set_times`, `sherwood_expire`, `sherwood_ttl` |\n"
                 "| list all keys | `sherwood_scan` |\n"
                 "| errors | `sherwood_error`, `sherwood_status_text` |\n"
                 "| share memory with a server of this machine | `sherwood_region_create` |",
                 "[Start](../start.md) has a program that runs. libsherwood(3) has more on errors and threads.")
    headers = sorted((ROOT / "client").glob("sherwood*.h"), key=lambda p: (p.name not in FIRST, FIRST.index(p.name) if p.name in FIRST else p.name))
    for header in headers:
        lines += [f"## {header.name}", ""]
        text = header.read_text(encoding="utf-8")
        first = PIECE.search(text)
        about = words_of(first.group()).split("\n", 2)[-1]
        lines += [*paragraphs(about), ""]
        for comment, code in entries(text[first.end():]):
            named = names(code)
            code = "" if re.fullmatch(r"#define SHERWOOD\w*_H\n", code) else code.replace("SHERWOOD_MUST_CHECK ", "")
            if code and named:
                lines += [f"### {escaped(', '.join(named))}", ""]
            if comment:
                lines += [*paragraphs(comment), ""]
            if code:
                lines += ["```c", *code.rstrip("\n").split("\n"), "```", ""]
    return lines
