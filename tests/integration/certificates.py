# SPDX-License-Identifier: MIT
"""certificates - keys and certificates of a test, made by the openssl command when it runs."""

import pathlib
import shutil
import subprocess
import tempfile


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, timeout=60,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Authority:
    """A root and the certificates that it signs, in a folder that the end of the "with" block removes."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-certificates-"))
        self.ca = self._root("ca")
        return self

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.folder, ignore_errors=True)

    def _key(self, name):
        key = self.folder / f"{name}.key"
        _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
        return key

    def _root(self, name):
        cert = self.folder / f"{name}.pem"
        _openssl("req", "-x509", "-new", "-key", self._key(name), "-days", "2", "-subj",
                 f"/CN=test root {name}", "-out", cert)
        return cert

    def stranger(self):
        """Makes another root, which nobody trusts."""
        return self._root("stranger")

    def sign(self, name, names="DNS:localhost,IP:127.0.0.1", days=2, root="ca"):
        """Returns (certificate, key) for a name. With days < 0 the certificate has expired."""
        key, request = self._key(name), self.folder / f"{name}.csr"
        cert, extension = self.folder / f"{name}.pem", self.folder / f"{name}.ext"
        extension.write_text(f"subjectAltName={names}\n", encoding="ascii")
        _openssl("req", "-new", "-key", key, "-subj", f"/CN={name}", "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.folder / f"{root}.pem", "-CAkey",
                 self.folder / f"{root}.key", "-set_serial", str(abs(hash(name)) % 10**9 + 1),
                 "-days", str(days), "-extfile", extension, "-out", cert)
        return cert, key


def run_signed(names, cases):
    """Calls cases() while the script has `authority` and the server's `identity`. `names` are the script's globals()."""
    with Authority() as authority:
        names.update(authority=authority, identity=authority.sign("server"))
        cases()
