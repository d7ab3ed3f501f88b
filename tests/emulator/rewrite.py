#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# rewrite.py - CUDA C++ in, C++ for the emulator out.
#
#   rewrite.py [--set NAME=VALUE].. [--replace OLD NEW].. OUT FILE..
#
# Writes each FILE below OUT under its own path, if what is there differs. Lines keep their numbers.
# --set makes a constant another one; --replace puts something else where OLD stands: for tests that
# must fail. Both must be in one of the files.
# What C++ has no word for becomes a call of include/: launches, shared variables, inline PTX.
# Everything else the headers there make C++ of as it is.
import argparse
import os
import re
import sys

# A GPU is filled by thousands of blocks, the emulator by few; and its batches are small.
SMALLER = {
    "SW_CUDA_FEW_BLOCKS": "3",
    "SW_CSET_FEW_BLOCKS": "3",
    "SW_CUCKOO_ENGINE_FEW_BLOCKS": "3",
    "SW_WIDE_LOCKS": "64U",
    "WARM_UP_OPS": "256U",
    "SW_CUDA_ID_TILE": "64",
    "LOCKED_MIN": "(1U << 6)",
    "LOCKED_ALL_MIN": "(1U << 8)",
    "SW_CUDA_RANGED_MAX": "(1U << 13)",
    "HOT_STEPS": "300",
    "RANGE_PIECE_BYTES": "(256ULL << 10)",
    "HOST_GRANULARITY": "(4ULL << 10)",
}


def closing(text, at):
    """Where the bracket that opens at `at` closes; strings are skipped."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    wanted = []
    while True:
        c = text[at]
        if c == '"':
            at = text.index('"', at + 1)
        elif c in pairs:
            wanted.append(pairs[c])
        elif wanted and c == wanted[-1]:
            wanted.pop()
            if not wanted:
                return at
        at += 1


def split(text, separator):
    """At the separators that are in no bracket and no string."""
    parts = [""]
    depth = 0
    quoted = False
    for c in text:
        quoted ^= c == '"'
        if not quoted:
            depth += (c in "([{") - (c in ")]}")
        if c == separator and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def lines_kept(new, old):
    return new.replace("\n", " ") + "\n" * old.count("\n")


# --- launches ------------------------------------------------------------------------------------


def kernel_before(text, end):
    """Where the name of the kernel begins that ends at `end`, with its template arguments."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += (text[at] == ">") - (text[at] == "<")
            if depth == 0:
                break
    while re.match(r"\w", text[at - 1]):
        at -= 1
    return at


def launches(text):
    while "<<<" in text:
        opens = text.index("<<<")
        closes = text.index(">>>", opens)
        begin = kernel_before(text, opens)
        kernel = text[begin:opens].strip()
        end = closing(text, closes + 3)
        call = text[begin : end + 1]
        arguments = text[closes + 4 : end].strip()
        new = "emu_launch(emu_shape(%s), %s, %s%s)" % (
            text[opens + 3 : closes],
            '"%s"' % re.sub(r"\s+", " ", kernel.replace("\\\n", " ")),
            kernel,
            ", " + arguments if arguments else "",
        )
        if "\\\n" in call:  # in a macro
            new = new.replace("\\\n", " ") + " \\\n" * call.count("\\\n")
            text = text[:begin] + new + text[end + 1 :]
        else:
            text = text[:begin] + lines_kept(new, call) + text[end + 1 :]
    # the shim knows the types of a kernel's parameters
    return re.sub(r"cudaLaunchCooperativeKernel\(\(const void \*\)", "cudaLaunchCooperativeKernel(", text)


# --- shared variables ----------------------------------------------------------------------------

DYNAMIC = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?([\w ]+?) (\w+)\[\];")
SHARED = re.compile(r"__shared__ ([^;]+?)\s*\b(\w+)((?:\[[^;]*\])?);")


def shared_variables(text):
    text = DYNAMIC.sub(r"\1 *\2 = (\1 *)emu_dynamic_shared();", text)
    return SHARED.sub(
        r'static int emu_place_\2; typedef \1 emu_type_\2\3; '
        r'emu_type_\2 &\2 = *(emu_type_\2 *)emu_shared(&emu_place_\2, sizeof(emu_type_\2), "\2");',
        text,
    )


# --- inline PTX ----------------------------------------------------------------------------------


def operands_of(text):
    return [operand[operand.index("(") :] for operand in split(text, ",") if operand]


def ptx(statement):
    """asm("op a, b, [c];" : outputs : inputs : ..) becomes emu_op(a, b, c), 128-bit registers the
    two operands they are made of."""
    parts = split(statement, ":")
    template = "".join(re.findall(r'"([^"]*)"', parts[0])).replace("\\n", " ").replace("\\t", " ")
    operands = [o for part in parts[1:3] for o in operands_of(part)]
    registers = {}
    name, arguments = None, None
    for instruction in template.strip("{} ").split(";"):
        words = instruction.split(None, 1)
        if not words or words[0] == ".reg":
            continue
        if words[0] == "mov.b128":
            to, source = split(words[1], ",")
            register, halves = (to, source) if source.startswith("{") else (source, to)
            registers[register] = halves
        else:
            name, arguments = words[0], words[1]
    for register, halves in registers.items():
        arguments = re.sub(r"\b%s\b" % register, halves, arguments)
    arguments = re.sub(r"[\[\]{}]", "", arguments)
    arguments = re.sub(r"%(\d+)", lambda number: operands[int(number[1])], arguments)
    return "emu_%s(%s)" % (re.sub(r"\W+", "_", name), arguments)


def inline_ptx(text):
    at = 0
    while True:
        found = re.compile(r"\basm( volatile)?\(").search(text, at)
        if not found:
            return text
        end = closing(text, found.end() - 1)
        old = text[found.start() : end + 1]
        body = text[found.end() : end]
        # the empty template with a ready "}" in a string must not confuse the brackets
        new = lines_kept(ptx(body), old)
        text = text[: found.start()] + new + text[end + 1 :]
        at = found.start() + len(new)


# -------------------------------------------------------------------------------------------------


def rewritten(text, path, constants, replacements):
    for name, value in constants.items():
        text = re.sub(r"(#define %s) .*" % name, r"\1 " + value, text)
    for old, new in replacements:
        text = text.replace(old, new)
    text = text.replace("__noinline__", "__attribute__((noinline))")  # libstdc++ has that word
    text = inline_ptx(shared_variables(launches(text)))
    return '#line 1 "%s"\n%s' % (path, text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--replace", action="append", default=[], nargs=2)
    parser.add_argument("out")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    constants = {**SMALLER, **dict(one.split("=") for one in options.set)}
    texts = {}
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    for old, _ in options.replace:
        if not any(old in text for text in texts.values()):
            sys.exit("rewrite.py: there is no `%s` to replace" % old)
    for one in options.set:
        name = one.split("=")[0]
        if not any("#define %s " % name in text for text in texts.values()):
            sys.exit("rewrite.py: there is no `#define %s` to set" % name)
    for path, text in texts.items():
        new = rewritten(text, path, constants, options.replace)
        to = os.path.join(options.out, path)
        if os.path.exists(to):
            with open(to, encoding="utf-8") as file:
                if file.read() == new:
                    continue
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w", encoding="utf-8") as file:
            file.write(new)


main()
