# SPDX-License-Identifier: MIT
"""Builds the package: its one extension module has the sources of libsherwood compiled in."""

import os
import pathlib
import sys
import sysconfig

from setuptools import setup

HERE = pathlib.Path(__file__).resolve().parent
os.chdir(HERE)
sys.path.insert(0, str(HERE))

import stage  # noqa: E402  pylint: disable=wrong-import-position

stage.stage(HERE)
# One wheel is for CPython 3.9 and every later one: the module keeps to the limited C API. A free-threaded build
# gets a wheel of its own: before 3.15 it has no limited API.
LIMITED = {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"bdist_wheel": {"py_limited_api": "cp39"}}
setup(version=(HERE / "csrc" / "VERSION").read_text(encoding="ascii").strip(), options=LIMITED,
      cffi_modules=["build_ffi.py:ffibuilder"])
