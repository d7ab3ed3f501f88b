# SPDX-License-Identifier: MIT
"""The version of the package, which is that of the libsherwood that is compiled in."""

from importlib import metadata

try:
    __version__ = metadata.version("sherwood")
except metadata.PackageNotFoundError:  # a build folder on sys.path
    __version__ = "unknown"
