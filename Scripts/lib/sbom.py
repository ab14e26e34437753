# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Prints what identityctl is made of, as CycloneDX: sbom.py PROGRAM VERSION FOLDER SECONDS. See Scripts/package-deb.

FOLDER is the scratch folder of the build. Reads there which packages were taken, and from swift-crypto which BoringSSL is in it.
"""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import uuid

program, version, scratch, seconds = sys.argv[1:]
scratch = pathlib.Path(scratch)
apache = [{"license": {"id": "Apache-2.0"}}]
runtime = [{"expression": "Apache-2.0 WITH Swift-exception"}]


def said_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def component(name, version, purl, licenses, kind="library", **more):
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl, "licenses": licenses, **more}


def packages():
    """The packages with a module in the program."""
    state = json.loads((scratch / "workspace-state.json").read_text())
    for dependency in sorted(state["object"]["dependencies"], key=lambda one: one["packageRef"]["identity"]):
        place = dependency["packageRef"]["location"].removeprefix("https://").removesuffix(".git")
        folder = scratch / "checkouts" / dependency["subpath"]
        found = dependency["state"]["checkoutState"]["version"]
        parts = []
        if (note := folder / "Sources/CCryptoBoringSSL/hash.txt").exists():
            revision = re.search(r"revision ([0-9a-f]{40})", note.read_text())[1]
            purl = f"pkg:generic/boringssl@{revision}?vcs_url=git%2Bhttps://boringssl.googlesource.com/boringssl@{revision}"
            parts = [component("BoringSSL", revision, purl, [{"license": {"name": "OpenSSL, ISC and others"}}])]
        yield component(dependency["packageRef"]["identity"], found, f"pkg:swift/{place}@{found}", apache,
                        **({"components": parts} if parts else {}))


compiler = re.search(r"Swift version ([\d.]+)", said_by("swiftc", "--version"))[1]
collection = said_by("g++", "-dumpfullversion").strip()
parts = [
    *packages(),
    *(component(name, compiler, f"pkg:swift/github.com/swiftlang/{name}@{compiler}", runtime)
      for name in ("swift", "swift-foundation", "swift-corelibs-libdispatch")),
    component("libstdc++", collection, f"pkg:generic/gcc@{collection}", [{"license": {"id": "GPL-3.0-with-GCC-exception"}}]),
]
if not any("components" in part for part in parts):
    sys.exit("ERROR: swift-crypto does not say which BoringSSL it has")
digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
own = component("identityctl", version, f"pkg:generic/identityctl@{version}", apache, "application",
                hashes=[{"alg": "SHA-256", "content": digest}])
time = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
print(json.dumps({
    "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "serialNumber": uuid.uuid5(uuid.NAMESPACE_URL, f"{own['purl']}#{digest}").urn,
    "version": 1,
    "metadata": {"timestamp": time, "component": own},
    "components": parts,
    "dependencies": [
        {"ref": own["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]},
        *({"ref": part["bom-ref"], "dependsOn": [inner["bom-ref"] for inner in part.get("components", [])]} for part in parts),
    ],
}, indent=2))
