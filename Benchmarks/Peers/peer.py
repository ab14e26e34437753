# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The same work with MSAL Python: a household of accounts, and answers that cost a provider nothing."""

import base64
import json
import os
import sys
import time

import msal
import msal_extensions

from store import CLIENT, SCOPES, TOKEN

AUTHORITY = "https://login.microsoftonline.com/common"


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def grant(number, serial=0):
    """What a token endpoint would say of a person."""
    claims = {
        "iss": "https://login.microsoftonline.com/tenant/v2.0", "aud": CLIENT, "sub": f"person-{number}",
        "oid": f"person-{number}", "tid": "tenant", "exp": int(time.time()) + 3600, "iat": int(time.time()),
        "preferred_username": f"person-{number}@example.test",
    }
    return {
        "access_token": f"{serial}.{TOKEN}", "refresh_token": f"r{serial}", "token_type": "Bearer", "expires_in": 3600,
        "scope": " ".join(SCOPES), "client_info": encoded({"uid": f"person-{number}", "utid": "tenant"}),
        "id_token": f"{encoded({'alg': 'none'})}.{encoded(claims)}.",
    }


class Answer:
    def __init__(self, body):
        self.status_code, self.text, self.headers = 200, json.dumps(body), {}

    def raise_for_status(self):
        pass


class Provider:
    """An HTTP client that answers from memory."""

    serial = 0

    def get(self, url, **_):
        base = "https://login.microsoftonline.com/common"
        return Answer({
            "issuer": f"{base}/v2.0", "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            "token_endpoint": f"{base}/oauth2/v2.0/token", "tenant_discovery_endpoint": f"{base}/v2.0/configuration",
            "metadata": [],
        })

    def post(self, url, **_):
        Provider.serial += 1
        return Answer(grant(0, Provider.serial))

    def close(self):
        pass


def application(cache):
    return msal.PublicClientApplication(
        CLIENT, authority=AUTHORITY, token_cache=cache, http_client=Provider(), instance_discovery=False)


def fill(cache, count):
    for number in range(count):
        cache.add({
            "client_id": CLIENT, "scope": SCOPES, "response": grant(number), "params": {}, "data": {}, "grant_type": "code",
            "token_endpoint": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        })


def file_cache(path, count):
    """A file with so many accounts, written at once: filling it one by one would take minutes."""
    memory = msal.SerializableTokenCache()
    fill(memory, count)
    with open(path, "w") as file:
        file.write(memory.serialize())
    return msal_extensions.PersistedTokenCache(msal_extensions.FilePersistence(path))


def account(app, number):
    return next(one for one in app.get_accounts() if one["username"] == f"person-{number}@example.test")


def works(directory):
    """By name: something that makes the work, which then is called again and again."""
    def hit(cache, scopes, number=0):
        app = application(cache)
        who = account(app, number)

        def run():
            assert app.acquire_token_silent(scopes, who)["token_source"] == "cache"
        return run

    def memory_hit(count, scopes):
        cache = msal.TokenCache()
        fill(cache, count)
        return hit(cache, scopes, count // 2)

    def refresh(count):
        app = application(file_cache(os.path.join(directory, f"refresh-{count}"), count))
        who = account(app, 0)

        def run():
            assert "access_token" in app.acquire_token_silent(SCOPES, who, force_refresh=True)
        return run

    def remove(count):
        app = application(file_cache(os.path.join(directory, f"remove-{count}"), count))
        accounts = iter(app.get_accounts())
        return lambda: app.remove_account(next(accounts))

    return {
        "hit-memory-1": lambda: memory_hit(1, SCOPES),
        "subset-memory-1": lambda: memory_hit(1, SCOPES[:2]),
        "subset-memory-1000": lambda: memory_hit(1000, SCOPES[:2]),
        "hit-file": lambda: hit(file_cache(os.path.join(directory, "hit"), 1), SCOPES),
        "refresh-1": lambda: refresh(1),
        "refresh-1000": lambda: refresh(1000),
        "remove-1000": lambda: remove(1000),
    }


if __name__ == "__main__":
    # A program that prints a token from a file, as scripts have it.
    app = application(msal_extensions.PersistedTokenCache(msal_extensions.FilePersistence(sys.argv[1])))
    print(app.acquire_token_silent(SCOPES, app.get_accounts()[0])["access_token"])
