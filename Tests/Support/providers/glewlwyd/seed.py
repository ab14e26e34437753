# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Sets up a new glewlwyd: `seed.py database` before it starts, `seed.py provider` once it runs.

Everything comes from the environment that start-glewlwyd prepares.
"""
import http.cookiejar
import json
import os
import sqlite3
import ssl
import subprocess
import sys
import urllib.error
import urllib.request

SCHEMA = "/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1")
env = os.environ


def create_database():
    with open(SCHEMA, encoding="utf-8") as schema, sqlite3.connect(env["STATE"] + "/db") as database:
        database.executescript(schema.read())


class Administration:
    """glewlwyd's REST interface, as its administrator."""

    def __init__(self):
        handlers = [urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())]
        if env["CA"]:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=env["CA"])))
        self.opener = urllib.request.build_opener(*handlers)

    def call(self, method, path, body=None):
        request = urllib.request.Request(env["BASE"] + "/api" + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self.opener.open(request, timeout=30) as response:
                content = response.read()
                return json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read(500).decode(errors='replace')}")


def openssl(*arguments, given=None):
    return subprocess.run(("openssl",) + arguments, input=given, capture_output=True, text=True, check=True).stdout


def openid_connect(name, sessions=False, requires_pushing=False, binds_tokens=False):
    key = openssl("genrsa", "2048")
    return {
        "iss": env["BASE"] + "/api/" + name,
        "jwt-type": "rsa", "jwt-key-size": "256", "key": key, "cert": openssl("rsa", "-pubout", given=key),
        "jwks-show": True, "oauth-as-iss-id": True, "subject-type": "public",
        "access-token-duration": int(env["AT_TTL"]), "refresh-token-duration": int(env["RT_TTL"]), "code-duration": 60,
        "refresh-token-rolling": False, "refresh-token-one-use": "always", "allow-non-oidc": True,
        "auth-type-code-enabled": True, "auth-type-code-revoke-replayed": True, "auth-type-refresh-enabled": True,
        "auth-type-none-enabled": True, "auth-type-client-enabled": False, "auth-type-token-enabled": False,
        "auth-type-implicit-enabled": False, "auth-type-password-enabled": False,
        "auth-type-device-enabled": True, "device-authorization-expiration": 120, "device-authorization-interval": 1,
        "allowed-scope": ["openid", "profile", "email", "offline_access", "api.read", "api.write"],
        "pkce-allowed": True, "pkce-method-plain-allowed": False, "pkce-required": False,
        "pkce-required-public-client": True,
        "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
        "introspection-revocation-auth-scope": [],
        "session-management-allowed": sessions, "session-cookie-name": "GLEWLWYD2_OIDC_SID",
        "session-cookie-expiration": 2419200, "front-channel-logout-allowed": False,
        "back-channel-logout-allowed": False, "request-parameter-allow": False, "restrict-scope-client-property": "",
        "name-claim": "on-demand", "name-claim-scope": ["profile"],
        "email-claim": "on-demand", "email-claim-scope": ["email"],
        "oauth-par-allowed": requires_pushing, "oauth-par-required": requires_pushing,
        "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:", "oauth-par-duration": 90,
        "oauth-dpop-allowed": binds_tokens, "oauth-dpop-nonce-mandatory": binds_tokens, "oauth-dpop-nonce-counter": 3,
        "oauth-dpop-iat-duration": 60, "oauth-dpop-iat-gap-duration": 10,
        "scope-claim": "no", "address-claim": {"type": "no"}, "claims": [],
    }


def set_up_provider():
    admin = Administration()
    sessions = env["SESSIONS"] == "1"
    first, last = (int(port) for port in env["REDIRECT_PORTS"].split("-"))
    origins = [f"http://{host}:{port}" for port in range(first, last + 1) for host in LOOPBACK_HOSTS]

    admin.call("POST", "/auth/", {"username": "admin", "password": "password"})
    for name in ("profile", "email", "offline_access", "api.read", "api.write"):
        admin.call("POST", "/scope", {
            "name": name, "display_name": name, "description": name,
            "password_required": False, "password_max_age": 0, "scheme": {},
        })
    scopes = ["openid", "g_profile", "profile", "email", "offline_access", "api.read"]
    # api.write exists, and is withheld from the first person.
    for person, granted in ((env["PROVIDER_USERNAME"], scopes), ("bob", scopes + ["api.write"])):
        admin.call("POST", "/user", {
            "username": person, "password": env["PROVIDER_PASSWORD"], "enabled": True,
            "name": person.capitalize() + " Example", "email": person + "@example.test", "scope": granted,
        })
    for name, parameters in (
        ("oidc", openid_connect("oidc", sessions=sessions)),
        ("oidc-pushed", openid_connect("oidc-pushed", requires_pushing=True)),
        ("oidc-dpop", openid_connect("oidc-dpop", binds_tokens=True)),
    ):
        admin.call("POST", "/mod/plugin/", {
            "module": "oidc", "name": name, "display_name": name, "enabled": True, "parameters": parameters,
        })
    # Without this, glewlwyd does not store where a client may be sent after sign-out.
    clients = admin.call("GET", "/mod/client/database")
    clients["parameters"]["data-format"]["post_logout_redirect_uris"] = {"multiple": True, "read": True, "write": True}
    admin.call("PUT", "/mod/client/database", clients)
    admin.call("PUT", "/mod/client/database/reset")
    paths = ("/", "/callback") if sessions else ("", "/", "/callback")
    admin.call("POST", "/client", {
        "client_id": env["PROVIDER_CLIENT_ID"], "name": "Swift public client", "enabled": True, "confidential": False,
        "authorization_type": ["code", "refresh_token", "device_authorization", "none", "delete_token"],
        "token_endpoint_auth_method": ["none"],
        "redirect_uri": [origin + path for origin in origins for path in paths],
        "post_logout_redirect_uris": [origin + path for origin in origins for path in ("/", "/signed-out")],
    })


if __name__ == "__main__":
    {"database": create_database, "provider": set_up_provider}[sys.argv[1]]()
