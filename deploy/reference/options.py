# SPDX-License-Identifier: MIT
"""options - ref/options.md: every option, from the list of sherwoodd --print-manual."""

import re
import subprocess

from text import escaped, head


def page(build):
    manual = subprocess.run([build / "sherwoodd", "--print-manual"], check=True, capture_output=True, text=True).stdout
    lines = head("Options of sherwoodd", "server/config/option_rows.inl",
                 "Flags override the file of `--config`, which overrides the defaults. In the file an option stands under its section, such as\n"
                 "`[server]`. SLOTS, BYTES and most counts accept K, M, G and T (1024 and its powers). Options marked Live change while the\n"
                 "server runs: by CONFIG SET, or by SIGHUP after an edit of the file. [sherwood.conf](../../sherwood.conf) has each option with\n"
                 "its default. sherwoodd(8) has the flags that are no options of the file.")
    for block in manual.strip().split("\n\n"):
        if block.startswith("## "):
            lines += [block, ""]
            continue
        flag, text = block.split("\n\t", 1)
        name, metavar = re.fullmatch(r"\*--([a-z0-9-]+)\*(?: (.*))?", flag).groups()
        metavar = re.sub(r"^_|_$", "", re.sub(r"\\(.)", r"\1", metavar or ""))
        lines += [f"### {name}", "", f"`--{name} {metavar}`".replace(" `", "`"), "", escaped(re.sub(r"\\(.)", r"\1", text.replace("\n\t", " "))), ""]
    return lines
