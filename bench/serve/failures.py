# SPDX-License-Identifier: MIT
"""failures - how programs of bench report what went wrong, and write their files.

An error of the system, such as a folder that cannot be written, ends a program with one sentence. A file of results is
written beside its old one, and then takes its place.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile


def positive(text):
    """A type of an option: a number from 1."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 is needed")
    return int(text)


class Failed(Exception):
    """A server that does not do what it must, a row that is no number, or a thing that is missing, in a sentence."""


def sentence(error):
    """What a Failed or an OSError says."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def program_in(build, name, option="--build"):
    """The path of a program of this tree, which must be there; `option` names the folder, if one does."""
    path = build / name
    if not path.is_file() or not os.access(path, os.X_OK):
        other = f", or name another folder with {option}" if option else ""
        raise Failed(f"{path} {'cannot be run' if path.exists() else 'does not exist'}: run `make build/{name}`{other}")
    return path


def made(folder, option):
    """Makes a folder, in which files can be written; `option` names it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise Failed(f"{option} {folder}: {error.strerror}: name a folder in which files can be written") from error


def write_file(path, text):
    """Writes a whole file, or leaves the one that is there."""
    path = pathlib.Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def ended(main, *others):
    """Runs a program's `main`. Returns its exit status; 1 with a sentence after a Failed, an OSError or one of `others`."""
    name = pathlib.Path(sys.argv[0]).name
    try:
        return main()
    except (Failed, OSError, *others) as error:
        print(f"{name}: error: {sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
