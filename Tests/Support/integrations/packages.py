# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Private packages: an index for pip and uv (PEP 503), and a sparse registry for cargo. Each has one package."""
import base64
import hashlib
import io
import json
import tarfile
import zipfile

from web import Answer, as_json

CHALLENGE = {"WWW-Authenticate": 'Basic realm="packages"'}
WHEEL = "private_thing-1.0-py3-none-any.whl"
CRATE = "private-thing"


def wheel():
    files = {
        "private_thing.py": b"ANSWER = 42\n",
        "private_thing-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: private-thing\nVersion: 1.0\n",
        "private_thing-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "private_thing-1.0.dist-info/RECORD"
    lines = []
    for name, content in files.items():
        checksum = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={checksum},{len(content)}\n")
    files[record] = ("".join(lines) + f"{record},,\n").encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as target:
        for name, content in files.items():
            target.writestr(zipfile.ZipInfo(name), content)
    return archive.getvalue()


def crate():
    files = {
        "Cargo.toml": f'[package]\nname = "{CRATE}"\nversion = "1.0.0"\nedition = "2021"\n',
        "src/lib.rs": "pub const ANSWER: u32 = 42;\n",
    }
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as target:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{CRATE}-1.0.0/{name}")
            entry.size = len(content)
            target.addfile(entry, io.BytesIO(content.encode()))
    return archive.getvalue()


WHEEL_BYTES, CRATE_BYTES = wheel(), crate()


def index(request, settings):
    if not request.person():
        return Answer(401, CHALLENGE)
    if request.rest == "/simple/private-thing/":
        checksum = hashlib.sha256(WHEEL_BYTES).hexdigest()
        page = f'<!DOCTYPE html><html><body><a href="../../files/{WHEEL}#sha256={checksum}">{WHEEL}</a></body></html>'
        return Answer(200, {"Content-Type": "text/html"}, page.encode())
    if request.rest == f"/files/{WHEEL}":
        return Answer(200, {"Content-Type": "application/octet-stream"}, WHEEL_BYTES)
    return Answer(404)


def registry(request, settings):
    if request.scheme != "bearer" or not request.person():
        return Answer(401, {"WWW-Authenticate": "Cargo"})
    if request.rest == "/index/config.json":
        return as_json({"dl": f"https://{request.headers['Host']}{request.mount}/dl", "auth-required": True})
    if request.rest == f"/index/pr/iv/{CRATE}":
        entry = {
            "name": CRATE, "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
            "cksum": hashlib.sha256(CRATE_BYTES).hexdigest(),
        }
        return Answer(200, {"Content-Type": "text/plain"}, (json.dumps(entry) + "\n").encode())
    if request.rest == f"/dl/{CRATE}/1.0.0/download":
        return Answer(200, {"Content-Type": "application/octet-stream"}, CRATE_BYTES)
    return Answer(404)
