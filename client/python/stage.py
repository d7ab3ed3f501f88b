# SPDX-License-Identifier: MIT
"""stage - copies the C sources of the extension module to csrc/, beside this file.

setuptools accepts no absolute paths of sources, and a source distribution cannot hold files outside of its folder. A
source distribution already has csrc/, so stage copies nothing there.

    stage.py FOLDER    copies the whole package to FOLDER, so that no build writes to this one
"""

import filecmp
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The files of proto/ that frames need; the server needs the others.
PROTO = ("arena", "check", "decimal", "frame", "header", "header_lists", "hex", "key_form", "map", "operation", "region",
         "regular_file", "trace", "value_type", "cluster/slot")


def put(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies a file, unless an equal one exists: then make does not compile it again."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or not filecmp.cmp(source, target, shallow=False):
        shutil.copyfile(source, target)


def generate(schema: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the C code of the frame headers, by protoc-c."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["protoc-c", f"--c_out={folder}", f"--proto_path={schema.parent.parent}",
                            str(schema)], check=True)
        except FileNotFoundError:
            sys.exit("sherwood: protoc-c is missing, and makes the code of the frame headers: run deploy/deps build, or"
                     " apt-get install protobuf-c-compiler libprotobuf-c-dev")
        for made in pathlib.Path(folder).rglob("*.pb-c.*"):
            put(made, target / made.name)


# proto/check.c includes the header of XXH3-64, so the package ships this header.
XXHASH = pathlib.Path("/usr/include/xxhash.h")

# The files of this folder that a package has.
PACKAGE = ("pyproject.toml", "setup.py", "MANIFEST.in", "*.py",
           "README.md", "LICENSE*", "src/sherwood/*")
HERE = pathlib.Path(__file__).resolve().parent


def stage(here: pathlib.Path) -> None:
    """Fills csrc/ from the repository, if this folder lies in one."""
    if (here.parents[1] / "client" / "sherwood.h").exists():
        copy_c(here.parents[1], here / "csrc")
    elif not (here / "csrc" / "VERSION").exists():
        sys.exit(f"sherwood: {here / 'csrc'} is missing: build the package in a clone of the repository")


def copy_package(folder: pathlib.Path) -> None:
    """Copies the package to another folder, and the C sources with it."""
    wanted = {path.relative_to(HERE) for pattern in PACKAGE for path in HERE.glob(pattern)
              if path.is_file()}
    for name in sorted(wanted):
        put(HERE / name, folder / name)
    for old in (folder / "src" / "sherwood").glob("*"):
        if old.is_file() and old.relative_to(folder) not in wanted:
            old.unlink()
    put(HERE.parents[1] / "LICENSE", folder / "LICENSE")
    copy_c(HERE.parents[1], folder / "csrc")


def copy_c(root: pathlib.Path, csrc: pathlib.Path) -> None:
    """Copies the C sources, and writes the version."""
    wanted = [*(root / "proto" / "ops").glob("*.h"), *(root / "proto" / "ops").glob("*.inl"),
              *(root / "client").glob("*.[ch]"), *(root / "client" / "python").glob("*.[ch]"),
              *(root / "proto").glob("*.h"), *(root / "proto" / "tls").glob("*.[ch]"), *(root / "proto" / "host").glob("*.[ch]"),
              *(root / "proto" / "cluster").glob("*.h"),
              *(root / "proto" / f"{name}.c" for name in PROTO)]
    for source in wanted:
        put(source, csrc / source.relative_to(root))
    generate(root / "proto" / "sherwood.proto", csrc / "proto")
    if not XXHASH.exists():
        sys.exit(f"sherwood: {XXHASH} is missing: run deploy/deps build, or apt-get install libxxhash-dev")
    put(XXHASH, csrc / XXHASH.name)
    keep = {source.relative_to(root) for source in wanted} | {pathlib.Path(XXHASH.name)}
    for old in csrc.rglob("*.[ch]"):
        if old.relative_to(csrc) not in keep and ".pb-c." not in old.name:
            old.unlink()
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    version = re.search(r"^VERSION := (\S+)", makefile, flags=re.M)
    if version is None:
        sys.exit("sherwood: the Makefile has no line VERSION := ..")
    (csrc / "VERSION").write_text(version.group(1) + "\n", encoding="ascii")


if __name__ == "__main__":
    copy_package(pathlib.Path(sys.argv[1]))
