# SPDX-License-Identifier: MIT
"""Builds the package: its one extension module has the sources of libsherwood compiled in."""

import os
import pathlib
import sys

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
os.chdir(HERE)
sys.path.insert(0, str(HERE))

import stage  # noqa: E402  pylint: disable=wrong-import-position

stage.stage(HERE)
setup(version=(HERE / "csrc" / "VERSION").read_text(encoding="ascii").strip(),
      cffi_modules=["build_ffi.py:ffibuilder"])
