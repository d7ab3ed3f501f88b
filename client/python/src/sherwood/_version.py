# SPDX-License-Identifier: MIT
"""The version of the package: that of the libsherwood in it."""

from importlib import metadata

try:
    __version__ = metadata.version("sherwood")
except metadata.PackageNotFoundError:  # a build folder on sys.path
    __version__ = "unknown"
