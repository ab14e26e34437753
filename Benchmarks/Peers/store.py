# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A store with one account, as the measured programs find it."""

import hashlib
import json
import os
import time

CLIENT = "test-client"
SCOPES = ["User.Read", "Mail.Read", "Files.Read"]
TOKEN = "t" * 2000


def digest(*parts):
    """The name of a key: Docs/cache-format.md."""
    return hashlib.sha256("".join(f"{len(part.encode())}:{part}" for part in parts).encode()).hexdigest()


def fill(directory):
    """A file cache with one account, as identityctl leaves it."""
    issuer, account, now = "https://login.example.test", "https://login.example.test|person-0", int(time.time())
    entity = {"home_account_id": account, "environment": "login.example.test", "client_id": CLIENT, "realm": ""}
    record = {
        "v": 1, "incarnation": "x", "authority_partition": "oidc|" + issuer, "client_id": CLIENT,
        "environment": "login.example.test", "home_account_id": account, "account_id": account,
        "Account": {"a": entity | {
            "local_account_id": "person-0", "username": "person-0@example.test", "authority_type": "MSSTS",
            "is_home_tenant": "1"}},
        "RefreshToken": {"r": entity | {"secret": "r", "last_modification_time": str(now)}},
        "AccessToken": {"t": entity | {
            "secret": TOKEN, "target": " ".join(SCOPES), "token_type": "Bearer", "cached_at": str(now),
            "expires_on": str(now + 3600)}},
    }
    group = os.path.join(directory, "client-" + digest(CLIENT)[:32])
    os.makedirs(group, mode=0o700)
    path = os.path.join(group, f"account-{digest('account', 'oidc|' + issuer, account, CLIENT)}.json")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump(record, file)
    return ["token", "--issuer", issuer, "--client-id", CLIENT, "--cache", "file:" + directory] + [
        word for scope in SCOPES for word in ("--scope", scope)]
