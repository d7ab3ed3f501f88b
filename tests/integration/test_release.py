#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make release: the commits that deploy/release refuses, and the contents of its files."""

import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

from harness import ROOT, Skip, case, check, equal, main, run

# What deploy/release reads, beside the versions.
FILES = ("Makefile", "deploy", "tests/lint", ".github")


def git(tree, *command):
    author = ("-c", "user.name=a", "-c", "user.email=a@b")
    return subprocess.run(["git", *author, *command], cwd=tree, check=True, capture_output=True, text=True).stdout


def commit(tree):
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "a commit")


def refusal(tree, **environment):
    """Returns the output of `deploy/release check`: '' if it finds nothing."""
    done = subprocess.run(["deploy/release", "check"], cwd=tree, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, **environment})
    equal(done.returncode != 0, bool(done.stderr), f"status {done.returncode}: {done.stderr}")
    return done.stderr


def replace(path, before, after):
    text = path.read_text()
    check(before in text, f"{path} has no {before!r}")
    path.write_text(text.replace(before, after, 1))


@case
def commits_that_are_no_release():
    """uncommitted changes, differing versions and the tag of another commit are refused by name"""
    if shutil.which("git") is None:
        raise Skip("git is not installed")
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for name in FILES:
            source, target = ROOT / name, tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
        (tree / "tests" / "lint" / "figures").write_text("#!/bin/sh\necho ok\n")
        git(tree, "init", "--quiet")
        commit(tree)
        equal(refusal(tree), "", "a clean commit")
        (tree / "new").touch()
        check("?? new" in refusal(tree), refusal(tree))
        commit(tree)
        for path, words in ((tree / "deploy/helm/sherwood/Chart.yaml", "Chart.yaml has the version"),
                            (tree / "deploy/debian/changelog", "debian/changelog has the version 9.8.7"),
                            (tree / "deploy/docs/changelog.md", "docs/changelog.md has the version 9.8.7")):
            replace(path, "0.1.0", "9.8.7")
            commit(tree)
            check(words in refusal(tree), refusal(tree))
            replace(path, "9.8.7", "0.1.0")
        commit(tree)
        git(tree, "tag", "v0.1.0", "HEAD")
        equal(refusal(tree), "", "the tag of this commit")
        git(tree, "tag", "--force", "v0.1.0", "HEAD~1")
        check("v0.1.0 is the tag of another commit" in refusal(tree), refusal(tree))
        git(tree, "tag", "--delete", "v0.1.0")
        (tree / "tests" / "lint" / "figures").write_text("#!/bin/sh\necho '# warning: results older than their code'\n")
        commit(tree)
        check("OLD_RESULTS=yes" in refusal(tree), refusal(tree))
        equal(refusal(tree, OLD_RESULTS="yes"), "", "with OLD_RESULTS")


@case
def raw_results_are_packed():
    """deploy/release results packs a study's folder, the same bytes each time, and refuses a folder without raw.csv"""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "tree"
        (tree / "deploy").mkdir(parents=True)
        for name in ("Makefile", "deploy/release"):
            shutil.copy2(ROOT / name, tree / name)
        results = pathlib.Path(folder) / "out"
        (results / "timing").mkdir(parents=True)

        def pack(**environment):
            return subprocess.run(["deploy/release", "results"], cwd=tree, capture_output=True, text=True, timeout=60, check=False,
                                  env={**os.environ, **environment})

        check("set RESULTS" in pack(RESULTS="").stderr, "without RESULTS")
        check("has no raw.csv" in pack(RESULTS=str(results)).stderr, "without raw.csv")
        (results / "timing" / "raw.csv").write_text("study\ntiming\n")
        made = []
        for _ in range(2):
            equal(pack(RESULTS=str(results)).returncode, 0, "status")
            made.append(next((tree / "build" / "release").glob("sherwood-*-results.tar.gz")).read_bytes())
        equal(made[0], made[1], "bytes of the archive")
        with tarfile.open(next((tree / "build" / "release").glob("*-results.tar.gz"))) as archive:
            check("./timing/raw.csv" in archive.getnames(), archive.getnames())


@case
def libraries_inside():
    """deploy/sbom lists each library of the build once with its version, and those inside the wheel"""
    document = json.loads(run(ROOT / "deploy" / "sbom"))
    equal((document["bomFormat"], document["metadata"]["component"]["name"]), ("CycloneDX", "sherwood"), "the document")
    components = {each["name"]: each for each in document["components"]}
    check({"openssl", "libuv1", "protobuf-c", "curl"} <= set(components), f"components: {sorted(components)}")
    check(all(each["version"] and each["version"] in each["purl"] for each in components.values()), f"{components}")
    inside = {name for name, each in components.items()
              if {"name": "sherwood:static-in", "value": "wheel"} in each["properties"]}
    equal(inside, {"openssl", "protobuf-c"}, "inside the wheel")
    equal(set(document["dependencies"][0]["dependsOn"]), set(components), "dependencies")


main()
