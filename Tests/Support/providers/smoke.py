#!/usr/bin/env -S python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""smoke.py ENV_FILE...: checks the test support itself. Signs in at each provider with both scripted people.

A small public client of its own, independent of the library: PKCE, the loopback redirect (query and form_post where
the provider has it), the signature of the ID token, userinfo, a refresh with rotation, a refused consent, a wrong
password, a session that is kept in a profile, the device grant, sign-out. Ends with 0 when all went as expected.
"""
import base64
import hashlib
import http.server
import json
import os
import secrets
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PEOPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "browser")
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")  # RFC 8017 §9.2


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_rs256(token, keys):
    signed, _, signature = token.rpartition(".")
    header = json.loads(decode(signed.split(".")[0]))
    key = next(key for key in keys if key.get("kid") == header.get("kid"))
    modulus, exponent = (int.from_bytes(decode(key[name]), "big") for name in ("n", "e"))
    size = (modulus.bit_length() + 7) // 8
    padded = pow(int.from_bytes(decode(signature), "big"), exponent, modulus).to_bytes(size, "big")
    digest = SHA256_PREFIX + hashlib.sha256(signed.encode()).digest()
    assert header["alg"] == "RS256" and padded == b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    return json.loads(decode(signed.split(".")[1]))


class Redirects(http.server.BaseHTTPRequestHandler):
    def answer(self, query):
        self.server.answers.append(dict(urllib.parse.parse_qsl(query)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Done.")

    def do_GET(self):
        if "favicon" in self.path:
            return self.send_error(404)
        self.answer(urllib.parse.urlsplit(self.path).query)

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def log_message(self, *arguments):
        pass


class Client:
    def __init__(self, env_file):
        self.env_file = env_file
        with open(env_file, encoding="utf-8") as lines:
            self.env = dict(line.rstrip("\n").split("=", 1) for line in lines)
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.env["CA"] or None)),
        )
        self.metadata = self.fetch(self.env["ISSUER"] + "/.well-known/openid-configuration")

    def fetch(self, url, form=None, bearer=None):
        data = urllib.parse.urlencode(form).encode() if form else None
        request = urllib.request.Request(url, data=data)
        if bearer:
            request.add_header("Authorization", "Bearer " + bearer)
        with self.opener.open(request, timeout=30) as response:
            return json.load(response)

    def sign_in(self, person, mode="approve", profile="", **extra):
        """The answer at the redirect URI, if any, and how the person fared."""
        first_port = int(self.env["REDIRECT_PORTS"].split("-")[0] or 0)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", first_port), Redirects)
        server.answers = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.redirect = f"http://localhost:{server.server_port}/callback"
        self.verifier, self.state, self.nonce = (secrets.token_urlsafe(48) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        url = self.metadata["authorization_endpoint"] + "?" + urllib.parse.urlencode({
            "response_type": "code", "client_id": self.env["CLIENT_ID"], "redirect_uri": self.redirect,
            "scope": self.env["SCOPES"], "state": self.state, "nonce": self.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256", **extra,
        })
        status = self.send(person, url, PERSON_MODE=mode, PERSON_PROFILE=profile)
        server.shutdown()
        server.server_close()
        return (server.answers or [{}])[0], status

    def send(self, person, url, **settings):
        """Has the person open the address, and gives the exit status."""
        settings.update(PERSON_PROVIDER=self.env_file, PERSON_FOREGROUND="1")
        done = subprocess.run(
            [os.path.join(PEOPLE, person), url], env={**os.environ, **settings},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120,
        )
        self.transcript = done.stderr
        return done.returncode

    def redeem(self, answer):
        return self.fetch(self.metadata["token_endpoint"], {
            "grant_type": "authorization_code", "code": answer["code"], "redirect_uri": self.redirect,
            "code_verifier": self.verifier, "client_id": self.env["CLIENT_ID"],
        })

    def refresh(self, tokens):
        return self.fetch(self.metadata["token_endpoint"], {
            "grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": self.env["CLIENT_ID"],
        })


def approve(client, person, **extra):
    answer, status = client.sign_in(person, **extra)
    assert status == 0 and answer.get("state") == client.state, (status, answer)
    issuer = answer.get("iss")
    if extra.get("response_mode") == "form_post":  # glewlwyd 2.7.5 percent-encodes what it puts into the form
        issuer = urllib.parse.unquote(issuer)
    assert issuer == client.env["ISSUER"], answer
    tokens = client.redeem(answer)
    claims = verify_rs256(tokens["id_token"], client.fetch(client.metadata["jwks_uri"])["keys"])
    assert claims["iss"] == client.env["ISSUER"] and claims["nonce"] == client.nonce, claims
    assert client.fetch(client.metadata["userinfo_endpoint"], bearer=tokens["access_token"])["sub"] == claims["sub"]
    refreshed = client.refresh(tokens)
    assert refreshed["access_token"] and refreshed["refresh_token"] != tokens["refresh_token"]


def form_post(client, person):
    if "form_post" in client.metadata.get("response_modes_supported", []):
        approve(client, person, response_mode="form_post")


def deny(client, person):
    answer, status = client.sign_in(person, mode="deny")
    if client.env["KIND"] == "dot":  # glewlwyd gives a person no way to refuse
        assert status == 0 and answer.get("error") == "access_denied", (status, answer)


def wrong_password(client, person):
    answer, status = client.sign_in(person, mode="badpass")
    assert status == 3 and not answer, (status, answer)


def kept_session(client, person):
    with tempfile.TemporaryDirectory() as profile:
        assert client.sign_in(person, profile=profile)[1] == 0
        answer, status = client.sign_in(person, mode="badpass", profile=profile)
        assert status == 0 and "code" in answer, (status, answer)


def device(client, person):
    endpoint = client.metadata.get("device_authorization_endpoint") or client.env["DEVICE_ENDPOINT"]
    client_id = client.env["DEVICE_CLIENT_ID"]
    grant = client.fetch(endpoint, {"client_id": client_id, "scope": client.env["SCOPES"]})
    assert client.send(person, grant["verification_uri_complete"], PERSON_END="page") == 0
    tokens = client.fetch(client.metadata["token_endpoint"], {
        "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "client_id": client_id,
        "device_code": grant["device_code"],
    })
    assert tokens["access_token"], tokens


def sign_out(client, person):
    """Ends the session; the next sign-in then needs the password again."""
    endpoint = client.metadata.get("end_session_endpoint")
    if not endpoint or (client.env["KIND"], person) == ("glewlwyd", "chromium-person"):
        return  # the sign-out page of glewlwyd 2.7.5 goes blank in a real browser, and the session stays
    with tempfile.TemporaryDirectory() as profile:
        answer, _ = client.sign_in(person, profile=profile)
        hint = {"id_token_hint": client.redeem(answer)["id_token"]}
        url = endpoint + "?" + urllib.parse.urlencode(hint)
        assert client.send(person, url, PERSON_PROFILE=profile, PERSON_END="page") == 0
        answer, status = client.sign_in(person, mode="badpass", profile=profile)
        assert status == 3 and not answer, (status, answer)


def tampered(client, person):
    for mode, key in (("tamper-state", "state"), ("tamper-iss", "iss"), ("tamper-code", "code")):
        answer, _ = client.sign_in(person, mode=mode)
        expected = {"state": client.state, "iss": client.env["ISSUER"]}.get(key)
        assert answer[key] != expected and (key != "code" or answer[key].endswith("x")), answer
    assert "state" not in client.sign_in(person, mode="drop-state")[0]
    assert client.sign_in(person, mode="stranger")[0].get("state") == "stranger"


def main(env_files):
    failures = 0
    for env_file in env_files:
        client = Client(env_file)
        for person in ("form-person", "chromium-person"):
            checks = [approve, form_post, deny, wrong_password, kept_session, device, sign_out]
            for check in checks + [tampered] * (person == "form-person"):
                started = time.monotonic()
                try:
                    check(client, person)
                    verdict = "ok  "
                except (AssertionError, OSError, KeyError) as error:
                    verdict, failures = "FAIL", failures + 1
                    print(f"{error!r}\n{client.transcript}")
                seconds = time.monotonic() - started
                print(f"{verdict} {client.env['ISSUER']}  {person}  {check.__name__}  {seconds:.1f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
