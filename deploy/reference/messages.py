# SPDX-License-Identifier: MIT
"""messages - the error texts in the sources of the server, the formats and the table, as (file, text).

Every text of at least three words is a message, except the texts of calls and files that are named here. So a new message is found
wherever it is: errors.py then needs an entry for it."""

import re

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"{LITERAL}|'(?:[^'\\]|\\.)+'|[A-Za-z_]\w*|\d\w*|\S")
COMMENT = re.compile(rf"({LITERAL})|/\*.*?\*/|//[^\n]*", re.S)
MACRO = re.compile(rf"#define (\w+)[ \\\n]+((?:{LITERAL}|SW_\w+)(?:[\s\\]*(?:{LITERAL}|SW_\w+))*)")
FOLDERS = ("server", "proto", "table")
# Calls whose texts are no errors: help, metrics, lines of files and protocols, assertions.
OTHER_CALLS = {"SW_OPTION", "SW_LIVE_OPTION", "gauge", "gauge_ratio", "counter", "counter_seconds", "histogram", "family", "put_gpu_figure",
               "static_assert", "_Static_assert", "assert", "sd_notify", "sd_notifyf", "sscanf", "fscanf", "volatile", "asm",
               "sw_text_simple", "sw_cuda_check", "curl_slist_append"}
# Files without such errors: remedies about options of redis, pages with numbers, the problems in /status.json (see operations.md), checks that only tests call.
OTHER_FILES = re.compile(r"server/(config/(print|docs|redis_options)\.c|config/(table_)?option_rows\.inl|observe/(metrics[a-z_]*|latency|problems)\.c|observe/(counters|history|latency)\.h|resp/command_map\.h|describe\.c|server_show\.c|selftest\.h)"
                         r"|proto/(ops/|sherwood\.proto)|table/.*(check\.(c|inl)|_audit\.c|id_passes\.c|device/code\.cu|cuckoo/backend\.inl)")


def without_comments(text):
    return COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)


def sources(root):
    """(path, text without comments) of each source file."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".inl", ".cu", ".cuh"):
                yield path.relative_to(root).as_posix(), without_comments(path.read_text(encoding="utf-8"))


def macros(texts):
    return {match[1]: match[2] for text in texts for match in MACRO.finditer(text)}


def flat(words, known):
    """The text that literals and macros make."""
    parts = []
    for word in words:
        if word.startswith('"'):
            parts.append(word[1:-1].replace('\\"', '"').replace("\\r\\n", "").replace("\\n", ""))
        elif word in known:
            parts.append(flat(re.findall(rf"{LITERAL}|\w+", known[word]), known))
        else:
            parts.append({"P": "llu", "J": "lld"}.get(word[0], ".."))  # PRIu64, JSON_INTEGER_FORMAT
    return "".join(parts)


def texts_of(text, known):
    """(calls around it, is it in a table at the top of the file, text) of each text of a file."""
    calls, run, opened = [], [], []
    before = ""
    tokens = [match[0] for match in TOKEN.finditer(text)] + [";"]
    for index, token in enumerate(tokens):
        if token[0] == '"' or token in known or re.fullmatch(r"PRI[diouxX]\d\d", token) or (run and re.fullmatch(r"[A-Z]\w*_[A-Z_]+", token)):
            run.append(token)
            continue
        if token == "\\":
            continue
        if any(word[0] == '"' or word in known for word in run) and before != "define":
            yield calls, "=" in opened, flat(run, known)
        run.clear()
        if token == "(":
            calls.append(before + (log_level(tokens, index) if before.startswith("sw_log") else ""))
        elif token == ")" and calls:
            calls.pop()
        elif token == "{":
            opened.append(before)
        elif token == "}" and opened:
            opened.pop()
            if not opened:
                calls.clear()
        before = token


def log_level(tokens, index):
    return next((token for token in tokens[index:index + 6] if token.startswith("SW_LOG_") and token.isupper()
                 and token.rsplit("_", 1)[1] in ("ERROR", "WARNING", "NOTICE", "INFO", "DEBUG")), "")


def is_message(path, calls, in_table, text):
    if text.startswith(": ") and len(text.split()) > 4:
        text = text[2:]  # the remedy of a message
    if len(text.split()) < 3 or not re.search("[a-z]{3}", text) or re.match(r"[ ,:;.)+*<\[]|#|-?[A-Z]{3,} ", text):
        return False  # a part of a text, a line of a protocol, or an error of RESP, which errors.py finds
    if any(call in OTHER_CALLS for call in calls) or any(re.search("SW_LOG_(WARNING|NOTICE|INFO|DEBUG)", call) for call in calls):
        return False
    if path.startswith("server/resp/") and in_table:  # HELP of the commands
        return path.endswith("unsupported_commands.c") and not re.search(r"\b(\w+) \1|\|", text)
    return not OTHER_FILES.match(path)


def messages(root):
    files = list(sources(root))
    known = macros(text for _, text in files)
    found = set()
    for path, text in files:
        for calls, in_table, words in texts_of(text, known):
            if is_message(path, calls, in_table, words):
                found.add((path, words))
    return sorted(found)
