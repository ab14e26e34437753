# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""What the servers know of a person: they ask the provider about an access token, and check an ID token's signature."""
import hashlib
import json
import pathlib
import ssl
import sys
import time
import urllib.error
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "providers"))
from smoke import verify_rs256


def digest(text):
    """Stands for a token in the log, which so has no secret."""
    return hashlib.sha256(text.encode()).hexdigest()[:16] if text else None


class Provider:
    def __init__(self, issuer, audience, ca):
        self.issuer, self.audience = issuer, audience
        self.tls = ssl.create_default_context(cafile=ca)
        self.documents = {}

    def get(self, url, token=None):
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
        with urllib.request.urlopen(request, timeout=20, context=self.tls) as answer:
            return json.load(answer)

    def document(self, name):
        if name not in self.documents:
            configuration = self.get(self.issuer + "/.well-known/openid-configuration")
            self.documents = {"configuration": configuration, "keys": self.get(configuration["jwks_uri"])["keys"]}
        return self.documents[name]

    def person(self, token):
        """The subject of a token that the provider takes now, or None."""
        if not token:
            return None
        try:
            return self.get(self.document("configuration")["userinfo_endpoint"], token)["sub"]
        except urllib.error.HTTPError as refusal:
            if refusal.code != 401:
                raise
            return None

    def subject(self, id_token):
        """The subject of an ID token for the client that the provider signed and that has not expired, or None."""
        try:
            claims = verify_rs256(id_token or "", self.document("keys"))
        except (AssertionError, KeyError, StopIteration, ValueError):
            return None
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        good = claims["iss"] == self.issuer and self.audience in audiences and claims["exp"] > time.time()
        return claims["sub"] if good else None
