#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make deb: the contents of the packages, and the findings of Debian's own checker.

The packages are made from the programs that are already built. tests/packages/run tests a build of the whole, a second
one that must give the same bytes, and an installation in a bare Debian. Then a copy of this machine is booted, and they
are installed there.
"""

import functools
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main, run

PACKAGES = {"sherwood-server", "libsherwood0", "libsherwood-dev", "sherwood-tools", "python3-sherwood", "sherwood-doc"}


@functools.cache
def has_sphinx():
    """Returns whether this machine's packages can build the site of sherwood-doc."""
    return shutil.which("dh_sphinxdoc") is not None and subprocess.run(
        ["/usr/bin/python3", "-c", "import sphinx, myst_parser, furo"], stderr=subprocess.DEVNULL, check=False).returncode == 0


@functools.cache
def packages():
    """Returns {name: its file}; builds the packages once for all cases."""
    if SANITIZED:
        raise Skip("packages are made of a plain build")
    if not shutil.which("dh_installsysusers") or not shutil.which("dh_python3") or not shutil.which("lintian"):
        raise Skip("debhelper, dh-python or lintian is not installed")
    if "without CUDA" not in (BUILD / "flags").read_text():
        raise Skip("build/ was made with nvcc; tests/packages/run builds packages as a whole")
    result = subprocess.run([ROOT / "deploy" / "deb", "build"], text=True, timeout=200, capture_output=True,
                            env={**os.environ, "SHERWOOD_BUILT": "1", "DEB_BUILD_OPTIONS": "noautodbgsym",
                                 "DEB_BUILD_PROFILES": "" if has_sphinx() else "nodoc"}, check=False)
    equal(result.returncode, 0, f"deploy/deb: {result.stdout[-3000:]}{result.stderr[-3000:]}")
    files = {path.rsplit("/", 1)[1].split("_")[0]: ROOT / path for path in result.stdout.split()}
    equal(set(files), PACKAGES, "packages")
    return files


def names(package):
    """Returns the contents of a package without folders: {path: mode}."""
    listed = (line.split(maxsplit=5) for line in run("dpkg-deb", "-c", packages()[package]).splitlines())
    return {parts[5].split(" -> ")[0][1:]: parts[0] for parts in listed if parts[0][0] != "d"}


def field(package, name):
    return run("dpkg-deb", "-f", packages()[package], name).strip()


@case
def checked():
    """lintian has no errors and no warnings"""
    packages()
    changes = list((BUILD / "deb").glob("*.changes"))
    equal(len(changes), 1, "files .changes")
    shown = run("lintian", "--allow-root", "--fail-on", "error,warning", changes[0], rc=None, timeout=120)
    tags = [line for line in shown.splitlines() if re.match(r"[EW]: ", line)]
    equal(tags, [], shown)


@case
def complete():
    """the packages contain each file that make install installs, once"""
    owner = {}
    for package in PACKAGES:
        for name in names(package):
            check(name not in owner, f"{name} is in {package} and in {owner.get(name)}")
            owner[name] = package
    with tempfile.TemporaryDirectory() as stage:
        copy, = (BUILD / "deb").glob("sherwood-*/")
        run("make", "-C", copy, "--no-print-directory", "install", "NVCC=", "PREFIX=/usr", f"DESTDIR={stage}")
        installed = {os.path.relpath(os.path.join(folder, name), stage)
                     for folder, _, files in os.walk(stage) for name in files}
    have = {re.sub(r"\.gz$", "", os.path.basename(name)) for name in owner}
    # Under the name of the package that has it.
    missing = {os.path.basename(name) for name in installed} - have - {"sherwood.conf"}
    equal(missing, set(), "installed by make, and in no package")
    for name, package in (("/usr/bin/sherwoodd", "sherwood-server"), ("/etc/sherwood/sherwood.conf", "sherwood-server"),
                          ("/lib/systemd/system/sherwoodd.service", "sherwood-server"),
                          ("/lib/systemd/system/sherwoodd@.service", "sherwood-server"),
                          ("/lib/systemd/system/sherwoodd.socket", "sherwood-server"),
                          ("/usr/lib/sysusers.d/sherwood-server.conf", "sherwood-server"),
                          ("/usr/bin/sherwood-cli", "sherwood-tools"), ("/usr/bin/sherwood-load", "sherwood-tools"),
                          ("/usr/include/sherwood.h", "libsherwood-dev"),
                          ("/usr/share/doc/sherwood-doc/deploy/prometheus/scrape.yml", "sherwood-doc")):
        equal(owner.get(name), package, name)
    check(any(n.endswith("/libsherwood.so.0") for n in names("libsherwood0")), names("libsherwood0"))


@case
def configuration():
    """sherwood.conf is a conffile, the daemon accepts it, and the data directory is the unit's"""
    equal(run("dpkg-deb", "-I", packages()["sherwood-server"], "conffiles").split(), ["/etc/sherwood/sherwood.conf"])
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "-x", packages()["sherwood-server"], root)
        path = root + "/etc/sherwood/sherwood.conf"
        run(root + "/usr/bin/sherwoodd", "--config", path, "--data-dir", root, "--check-config")  # systemd makes the folder
        with open(path, encoding="utf-8") as file:
            set_lines = [line.strip() for line in file if re.match(r"[a-z]", line)]
        equal(set_lines, ["data-dir = /var/lib/sherwood"], "what the package sets")
        with open(root + "/lib/systemd/system/sherwoodd.service", encoding="utf-8") as file:
            unit = file.read()
        check("\nExecStart=/usr/bin/sherwoodd --config /etc/sherwood/sherwood.conf\n" in unit, unit)
        check("\nStateDirectory=sherwood\n" in unit, unit)
        check("\nCacheDirectory=sherwood\n" in unit and "\nEnvironment=CUDA_CACHE_PATH=/var/cache/sherwood\n" in unit, unit)
        with open(root + "/lib/systemd/system/sherwoodd@.service", encoding="utf-8") as file:
            template = file.read()
        for line in ("ExecStart=/usr/bin/sherwoodd --config /etc/sherwood/%i.conf", "StateDirectory=sherwood/%i",
                     "CacheDirectory=sherwood/%i", "Environment=CUDA_CACHE_PATH=/var/cache/sherwood/%i",
                     "RuntimeDirectory=sherwood/%i"):
            check(f"\n{line}\n" in template, f"{line}: {template}")
        equal(len(re.findall(r"^\w+=", template, re.M)), len(re.findall(r"^\w+=", unit, re.M)) - 1,
              "the template has every setting but RuntimeDirectoryPreserve")


@case
def symbols():
    """libsherwood0 lists each exported symbol with a version, and libsherwood-dev depends on exactly that package"""
    def listed(text):
        return {library: set(re.findall(r"^ (\w+)@Base \d", lines, re.M))
                for library, lines in re.findall(r"^(\S+)\.so\.\d+ .*\n((?: .*\n)+)", text, re.M)}
    text = (ROOT / "deploy" / "debian" / "libsherwood0.symbols").read_text(encoding="utf-8")
    exported = {library: {line.split()[2] for line in
                          run("nm", "-D", "--defined-only", BUILD / f"{library}.so").splitlines()}
                for library in ("libsherwood", "libsherwood-cuda")}
    equal(listed(text), exported, "symbols; make docs writes them")
    shipped = run("dpkg-deb", "-I", packages()["libsherwood0"], "symbols")
    equal(listed(shipped), exported, "symbols of the package")
    equal(field("libsherwood-dev", "Depends").split(", ")[0],
          f"libsherwood0 (= {field('libsherwood0', 'Version')})", "libsherwood-dev")


@case
def versions():
    """Makefile and packages have one version; sherwood-server depends on libuv, libc and systemd-sysusers"""
    wanted = re.search(r"^VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.M).group(1)
    for package in PACKAGES:
        equal(field(package, "Version").split("-")[0], wanted, package)
        equal(field(package, "Source"), "sherwood", package)
    depends = field("sherwood-server", "Depends")
    check("libuv1" in depends and "libc6" in depends and "systemd-sysusers" in depends, depends)


@case
def documents():
    """sherwood-doc has llms.txt, the pages and each file that they link to, uncompressed"""
    have = {name.removeprefix("/usr/share/doc/sherwood-doc/") for name in names("sherwood-doc")}
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy" / "docs").rglob("*.md")}
    check(len(pages) > 20 and "deploy/docs/ref/options.md" in pages, pages)
    equal({"README.md", "llms.txt", *pages} - have, set(), "pages")
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "-x", packages()["sherwood-doc"], root)
        folder = os.path.join(root, "usr/share/doc/sherwood-doc")
        for name in sorted(name for name in have if name.endswith(".md")):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
            for link in re.findall(r"\]\(([^)\s#]+)", text):
                path = os.path.normpath(os.path.join(folder, os.path.dirname(name), link))
                check("://" in link or os.path.isfile(path), f"{name} links to {link}")


@case
def site():
    """sherwood-doc has the site as HTML, uncompressed, and no page has a dead link"""
    if not has_sphinx():
        raise Skip("python3-sphinx, python3-myst-parser or furo is not installed: the packages were made with the profile nodoc")
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "-x", packages()["sherwood-doc"], root)
        folder = os.path.join(root, "usr/share/doc/sherwood/html")
        equal(run(ROOT / "deploy/docs/links", folder), "", "dead links")
        have = {os.path.relpath(os.path.join(path, name), folder) for path, _, files in os.walk(folder) for name in files}
    pages = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in (ROOT / "deploy" / "docs").rglob("*.md")}
    equal({"index.html", "README.html", "searchindex.js", *pages} - have, set(), "pages")
    equal([name for name in have if name.endswith(".gz")], [], "compressed files")
    check("libjs-sphinxdoc" in field("sherwood-doc", "Depends"), field("sherwood-doc", "Depends"))


@case
def python_module():
    """python3-sherwood has the module and its types, and needs OpenSSL, protobuf-c, numpy and cffi of Debian"""
    have = {name.removeprefix("/usr/lib/python3/dist-packages/") for name in names("python3-sherwood")}
    sources = {path.name for path in (ROOT / "client/python/src/sherwood").iterdir() if path.is_file()}
    equal({f"sherwood/{name}" for name in sources | {"_native.abi3.so"}} - have, set(), "files of the module")
    equal({name for name in have if "dist-info" in name}, {f"sherwood-{field('python3-sherwood', 'Version').split('-')[0]}"
                                                           ".dist-info/METADATA"}, "what pip and importlib.metadata read")
    depends = field("python3-sherwood", "Depends")
    for name in ("libssl3", "libprotobuf-c1", "python3-numpy", "python3-cffi", "python3-cffi-backend-api-min"):
        check(re.search(rf"(^|, ){name}( |,|$)", depends), f"{name}: {depends}")


@case
def on_systemd():
    """installed, upgraded, purged, and run as services under a real systemd"""
    packages()
    result = subprocess.run([ROOT / "tests/packages/boot", "200", "tests/packages/on_systemd.py", "/src/build/deb"],
                            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            timeout=250, check=False)
    lines = result.stdout.splitlines()
    if result.returncode == 75:
        raise Skip(lines[-1] if lines else "no systemd can be booted here")
    print("\n".join(line for line in lines if not line.startswith("not ok")), flush=True)
    equal(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    main()
