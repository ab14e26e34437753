# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The service that a docker registry sends its clients to: it takes the person's token as the password, and signs one for
the registry. See https://distribution.github.io/distribution/spec/auth/token/"""
import base64
import json
import re
import subprocess
import time
import urllib.parse

from web import Answer, as_json

NAME = "test-registry"


def answer(request, settings):
    person = request.person()
    if request.scheme != "basic" or not person:
        return Answer(401, {"WWW-Authenticate": 'Basic realm="tokens"'})
    query = urllib.parse.parse_qs(request.query)
    access = []
    for scope in query.get("scope", []):
        kind, name, actions = scope.split(":")
        access.append({"type": kind, "name": name, "actions": actions.split(",")})
    now = int(time.time())
    claims = {
        "iss": NAME, "sub": person, "aud": NAME, "exp": now + 300, "nbf": now - 5, "iat": now, "jti": str(time.time_ns()),
        "access": access,
    }
    with open(settings["CERTIFICATE"], encoding="ascii") as file:
        chain = re.findall("-----BEGIN CERTIFICATE-----(.*?)-----END", file.read(), re.DOTALL)
    header = {"typ": "JWT", "alg": "RS256", "x5c": ["".join(certificate.split()) for certificate in chain]}
    signed = ".".join(encoded(json.dumps(part).encode()) for part in (header, claims))
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", settings["KEY"]], input=signed.encode(), stdout=subprocess.PIPE, check=True
    ).stdout
    return as_json({"token": f"{signed}.{encoded(signature)}", "expires_in": 300})


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
