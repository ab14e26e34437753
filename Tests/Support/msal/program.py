# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A program with MSAL Python, whose tokens are in a file.

program.py WHICH sign-in             stores an account
program.py WHICH refresh COUNT       refreshes COUNT times, for a scope of its own each time, and prints the scopes
program.py WHICH check < NAMES       finds a token for each scope in the file, without a network
program.py WHICH secret              prints the refresh token

WHICH is msal:FILE. The library locks by the file's existence, as without portalocker. It is the real one; its requests
are answered here, because no test has an account at Entra ID.
"""
import base64
import json
import sys
import uuid

import requests

TENANT = "bbbbbbbb-0000-0000-0000-00000000000b"
PERSON = "aaaaaaaa-0000-0000-0000-00000000000a"
AUTHORITY = "https://login.microsoftonline.com/" + TENANT
CLIENT = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"  # the Azure CLI's


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


class Answer:
    status_code = 200
    headers = {}

    def __init__(self, value):
        self.text = json.dumps(value)

    def raise_for_status(self):
        pass

    def json(self):
        return json.loads(self.text)


isOffline = False


def get(session, url, **options):
    if isOffline:
        sys.exit("a request was sent: " + url)
    oauth = AUTHORITY + "/oauth2/v2.0/"
    return Answer({
        "issuer": AUTHORITY + "/v2.0", "authorization_endpoint": oauth + "authorize",
        "metadata": [{"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net",
                      "aliases": ["login.microsoftonline.com", "login.windows.net"]}],
        "token_endpoint": oauth + "token", "device_authorization_endpoint": oauth + "devicecode",
    })


def post(session, url, data=None, **options):
    if isOffline:
        sys.exit("a request was sent: " + url)
    if url.endswith("/devicecode"):
        return Answer({"device_code": "d", "user_code": "u", "verification_uri": "https://x.test", "interval": 0,
                       "expires_in": 900, "message": "m"})
    name = str(uuid.uuid4())
    claims = {"iss": AUTHORITY + "/v2.0", "aud": CLIENT, "sub": "s", "oid": PERSON, "tid": TENANT,
              "preferred_username": "alice@contoso.com", "exp": 4000000000, "iat": 1}
    return Answer({
        "access_token": "python-token-" + name, "refresh_token": "python-" + name, "token_type": "Bearer",
        "expires_in": 3600, "scope": data.get("scope", "first"), "foci": "1",
        "id_token": ".".join(["e30", encoded(claims), "x"]),
        "client_info": encoded({"uid": PERSON, "utid": TENANT}),
    })


requests.Session.get = get
requests.Session.post = post

import msal  # noqa: E402


def cache(which):
    sys.modules["portalocker"] = None
    from msal_extensions import FilePersistence, PersistedTokenCache
    return PersistedTokenCache(FilePersistence(which.split(":", 1)[1]))


which, action = sys.argv[1:3]
tokens = cache(which)
program = msal.PublicClientApplication(CLIENT, authority=AUTHORITY, token_cache=tokens)


def account():
    accounts = program.get_accounts()
    if len(accounts) != 1 or accounts[0]["username"] != "alice@contoso.com":
        sys.exit("the accounts are %r" % accounts)
    return accounts[0]


if action == "sign-in":
    flow = program.initiate_device_flow(scopes=["first"])
    assert "access_token" in program.acquire_token_by_device_flow(flow)
elif action == "refresh":
    for _ in range(int(sys.argv[3])):
        name = str(uuid.uuid4())
        result = program.acquire_token_silent([name], account=account(), force_refresh=True)
        assert result and result["access_token"].startswith("python-token-"), result
        print(name, flush=True)
elif action == "check":
    isOffline = True
    names = sys.stdin.read().split()
    for name in names:
        result = program.acquire_token_silent([name], account=account())
        if not result or "access_token" not in result:
            sys.exit("there is no token for %s: %r" % (name, result))
    print(len(names), "tokens")
elif action == "secret":
    account()
    found = list(tokens.search(msal.TokenCache.CredentialType.REFRESH_TOKEN))
    assert len(found) == 1, found
    print(found[0]["secret"])
