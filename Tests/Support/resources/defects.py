# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""defects.py IDENTITYCTL PERSON: signs in at mcp-authlab's server with each of its defects alone, and with each two that touch
the same step. A harmless defect does not hinder the sign-in, a refresh included; any other is refused with its code.
"""
import concurrent.futures
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from mcp_authlab.fixture import DEFECTS

PROGRAM, PERSON = sys.argv[1:3]

# The steps that a defect touches, and the codes of those that are refused.
STEPS = [
    ["no_prm", "bare_401", "no_scope_challenge", "wrong_resource", "forbid_instead", "wildcard_scopes"],
    ["http_as", "no_pkce", "no_registration", "no_iss", "issuer_trailing_slash"],
    ["pkce_optional", "skip_verifier", "skip_redirect_check", "ignore_resource", "static_refresh", "drop_iss",
     "opaque_tokens", "strict_resource"],
]
REFUSED = {
    "no_prm": "configuration.unsupported",
    "wrong_resource": "invalid_response",
    "http_as": "invalid_response.untrusted_authority",
    "no_pkce": "configuration.unsupported",
    "no_registration": "configuration.client_not_registered",
    "drop_iss": "invalid_response",
    "issuer_trailing_slash": "invalid_response",
}
INITIALIZE = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, server):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("the server did not start")


def wait_for_person(log):
    """The person closes the page after the program has ended."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if os.path.exists(log) and '"event": "exit"' in open(log, encoding="utf-8").read():
            return
        time.sleep(0.02)
    raise AssertionError("the person is still at the page")


def run(defects):
    """Returns what went wrong; nothing if all is as expected."""
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        address = f"http://127.0.0.1:{port}/mcp"
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": home, "BROWSER": PERSON, "DISPLAY": ":99",
            "IDENTITYCTL_CACHE": "file", "PERSON_TIMEOUT": "20", "PERSON_LOG": home + "/person",
        }
        command = [sys.executable, "-m", "mcp_authlab", "fixture", "--auto-consent", "--port", str(port), "--verbose"]
        for defect in defects:
            command += ["--flag", defect]
        with open(home + "/server", "w", encoding="utf-8") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_for(port, server)

            def ours(*arguments):
                return subprocess.run(
                    [PROGRAM, *arguments, "--json"], env=environment, capture_output=True, text=True, timeout=40,
                    stdin=subprocess.DEVNULL, check=False,
                )

            called = ours(
                "call", address, "--data", INITIALIZE, "--header", "Accept: application/json, text/event-stream"
            )
            if "Opening the browser" in called.stderr:
                wait_for_person(home + "/person")
            codes = {REFUSED[defect] for defect in defects if defect in REFUSED}
            if "no_iss" in defects:
                # Nothing but an iss tells who answered, and how the server spells its issuer, which ends in a slash or not.
                codes -= {REFUSED[defect] for defect in ("drop_iss", "issuer_trailing_slash") if defect in defects}
            last = called.stderr.strip().splitlines()[-1:] or [""]
            if codes:
                code = json.loads(last[0]).get("error", {}).get("code") if last[0].startswith("{") else None
                return None if called.returncode and code in codes else f"{code}, not {codes}: {called}"
            if called.returncode or "serverInfo" not in called.stdout:
                return f"the call failed: {called}"
            asked = open(home + "/server", encoding="utf-8").read()
            renewed = ours("token", "--resource", address, "--force-refresh")
            if renewed.returncode or not json.loads(renewed.stdout).get("accessToken"):
                return f"the refresh failed: {renewed}"
            since = open(home + "/server", encoding="utf-8").read()[len(asked):]
            if asked.count("POST /register") != 1 or asked.count("GET /authorize") != 1 or "oauth-protected" in since:
                return f"more than one registration, page or search:\n{asked}\n{since}"
            return None
        finally:
            server.kill()
            server.wait()


cases = [(), *((defect,) for defect in DEFECTS), *(pair for step in STEPS for pair in itertools.combinations(step, 2))]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    results = list(pool.map(run, cases))
failed = [(case, result) for case, result in zip(cases, results) if result]
for case, result in failed:
    print("FAILED", "+".join(case) or "no defect", result, file=sys.stderr)
print(f"{len(DEFECTS)} defects alone, {len(cases) - len(DEFECTS) - 1} in pairs")
sys.exit(bool(failed))
