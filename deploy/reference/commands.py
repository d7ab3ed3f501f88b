# SPDX-License-Identifier: MIT
"""commands - ref/commands.md, and the list in sherwoodd(8): the rows of server/resp/command_map.h."""

import re

from text import escaped, head, source

GROUPS = {"STRING": "Values", "GENERIC": "Keys", "TRANSACTIONS": "Transactions", "CONNECTION": "Connections", "CLUSTER": "Cluster",
          "SERVER": "Server"}
EFFECTS = {"READ": "reads", "INSERT": "writes, may add a key", "WRITE": "writes", "DELETE": "removes", "ADMIN": "administers", "NONE": ""}
IN_MULTI = {"QUEUED": "queued", "AT_ONCE": "at once", "REFUSED": "refused"}


def columns(row):
    """The columns of a row, split at the commas outside of parentheses and strings."""
    found, depth, begin = [], 0, 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[(),]', row):
        if match.group() == "(":
            depth += 1
        elif match.group() == ")":
            depth -= 1
        elif match.group() == "," and depth == 0:
            found.append(row[begin:match.start()].strip())
            begin = match.end()
    return [*found, row[begin:].strip()]


def rows():
    """Each command: name, arity, keys, group, effect, speed, in_multi, summary."""
    text = source("server/resp/command_map.h").replace("\\\n", " ")
    body = re.search(r"#define SW_COMMAND_MAP\(X\)(.*)", text).group(1)
    ends = [*(match.start() for match in re.finditer(r"(?<!\w)X\((?=[A-Z_]+, \")", body)), len(body)]
    for begin, end in zip(ends, ends[1:]):
        row = body[begin:end].strip()
        _, name, arity, keys, group, effect, speed, in_multi, _, summary = columns(row[2:row.rindex(")")])
        summary = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', summary)).replace('\\"', '"')
        yield name.strip('"').upper(), int(arity), keys, group, effect, speed, in_multi, summary


def arguments(arity):
    return f"at least {-arity - 1}" if arity < 0 else str(arity - 1)


def keys_of(keys):
    if not keys.startswith("KEYS"):
        return "all" if keys.endswith("_KEYS") and keys != "NO_KEYS" else ""
    first, last, step = (int(number) for number in re.findall(r"-?\d+", keys))
    if first == last:
        return str(first)
    return f"{first} to {'the last' if last < 0 else last}" + (f", every {step}nd" if step == 2 else "")


def page(_build):
    found = list(rows())
    lines = head("RESP commands", "server/resp/command_map.h",
                 "COMMAND DOCS of a running server has the same list. [Operations](operations.md) shows which engine refuses which command.\n"
                 "[Migrate from redis](../migrate-from-redis.md) lists the differences from redis, and the commands of redis that Sherwood lacks.",
                 "- **arguments**: their number, without the name.\n"
                 "- **keys**: the arguments that are keys. `all`: the command can show or change any key, so its user needs all keys.\n"
                 "- **effect**: on keys, or on the server (`administers`).\n"
                 "- **in MULTI**: `queued` until EXEC, executed `at once`, or `refused`.")
    for group, title in GROUPS.items():
        lines += [f"## {title}", "", "| command | arguments | keys | effect | in MULTI | what it does |", "| --- | --- | --- | --- | --- | --- |"]
        lines += [f"| {name} | {arguments(arity)} | {keys_of(keys)} | {EFFECTS[effect]} | {IN_MULTI[in_multi]} | {escaped(summary)} |"
                  for name, arity, keys, of, effect, _, in_multi, summary in found if of == group]
        lines.append("")
    assert {row[3] for row in found} <= set(GROUPS), "a group without a title"
    return lines


def manual(text):
    """sherwoodd(8) with the list of commands as it is now."""
    start = text.index("*COMMAND DOCS* has the same list:\n\n") + len("*COMMAND DOCS* has the same list:\n\n")
    end = text.index("\n\n", start) + 1
    return text[:start] + "".join(f"- {row[0]}: {row[-1]}\n" for row in rows()) + text[end:]
