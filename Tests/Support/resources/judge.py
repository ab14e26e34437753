# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""judge.py METHOD URL: judges the two header fields on standard input, with joserfc: whether the proof is one of RFC 9449 for this
request and this token, by the key that the token names.
"""
import base64
import hashlib
import json
import sys
import time

from joserfc import jwk, jws

method, url = sys.argv[1:3]
fields = dict(line.rstrip("\n").split(": ", 1) for line in sys.stdin)
scheme, token = fields["Authorization"].split(" ")
proof = fields["DPoP"]


def part(text, index):
    piece = text.split(".")[index]
    return json.loads(base64.urlsafe_b64decode(piece + "=" * (-len(piece) % 4)))


header = part(proof, 0)
key = jwk.ECKey.import_key(header["jwk"])
claims = json.loads(jws.deserialize_compact(proof, key, algorithms=["ES256"]).payload)
digest = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).decode().rstrip("=")
assert scheme == "DPoP", scheme
assert header["typ"] == "dpop+jwt" and header["alg"] == "ES256" and not key.is_private, header
assert claims["htm"] == method and claims["htu"] == url.split("?")[0] and claims["ath"] == digest, claims
assert abs(claims["iat"] - time.time()) < 30 and len(claims["jti"]) >= 16, claims
assert part(token, 1)["cnf"]["jkt"] == key.thumbprint(), "the token is bound to another key"
print("a proof of RFC 9449")
