# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A program with MSAL Python, azure-identity or the Azure CLI's library, whose tokens are in a file or in the keyring.

program.py WHICH sign-in             stores an account
program.py WHICH refresh COUNT       refreshes COUNT times, for a scope of its own each time, and prints the scopes
program.py WHICH refresh COUNT again the same; a refresh that finds no account is tried again
program.py WHICH check < NAMES       finds a token for each scope in the file, without the token endpoint
program.py WHICH secret              prints the refresh token
program.py WHICH hold                takes the lock and dies

A refresh that does not get the lock within the library's five seconds is tried again, too. Both are counted on stderr.

WHICH is msal:FILE, keyring:FILE (the item beside that file), azure-identity or azure-cli. The first locks by the file's
existence, as without portalocker; the others have it. The libraries are the real ones; their requests are answered here, because no test has an account at Entra ID.
"""
import base64
import io
import json
import os
import signal
import sys
import time
import urllib.parse
import uuid

import requests
import urllib3

TENANT = "bbbbbbbb-0000-0000-0000-00000000000b"
PERSON = "aaaaaaaa-0000-0000-0000-00000000000a"
HOST = "login.microsoftonline.com"
AUTHORITY = "https://%s/%s" % (HOST, TENANT)
CLIENT = "04b07795-8ddb-461a-bbee-02f9e1bf7b46"  # the Azure CLI's
NAME = "alice@contoso.com"


def encoded(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


isOffline = False


def answer(url, form):
    if "/token" not in url and "/devicecode" not in url:
        oauth = AUTHORITY + "/oauth2/v2.0/"
        return {
            "issuer": AUTHORITY + "/v2.0", "authorization_endpoint": oauth + "authorize",
            "metadata": [{"preferred_network": HOST, "preferred_cache": "login.windows.net",
                          "aliases": [HOST, "login.windows.net"]}],
            "token_endpoint": oauth + "token", "device_authorization_endpoint": oauth + "devicecode",
        }
    if isOffline:
        sys.exit("a request was sent: " + url)
    if url.endswith("/devicecode"):
        return {"device_code": "d", "user_code": "u", "verification_uri": "https://x.test", "interval": 0,
                "expires_in": 900, "message": "m"}
    name = str(uuid.uuid4())
    claims = {"iss": AUTHORITY + "/v2.0", "aud": CLIENT, "sub": "s", "oid": PERSON, "tid": TENANT,
              "preferred_username": NAME, "exp": 4000000000, "iat": 1}
    return {
        "access_token": "python-token-" + name, "refresh_token": "python-" + name, "token_type": "Bearer",
        "expires_in": 3600, "scope": form.get("scope", "first"), "foci": "1",
        "id_token": ".".join(["e30", encoded(claims), "x"]),
        "client_info": encoded({"uid": PERSON, "utid": TENANT}),
    }


def send(adapter, request, **options):
    body = request.body or ""
    form = dict(urllib.parse.parse_qsl(body.decode() if isinstance(body, bytes) else body))
    content = json.dumps(answer(request.url.split("?")[0], form)).encode()
    return adapter.build_response(request, urllib3.HTTPResponse(
        body=io.BytesIO(content), status=200, headers={"Content-Type": "application/json"}, preload_content=False))


requests.adapters.HTTPAdapter.send = send

import msal  # noqa: E402


class NoAccount(Exception):
    pass


class Msal:
    """A program with MSAL Python and its extension."""

    def __init__(self, place):
        kind, path = place.split(":", 1)
        if kind == "keyring":
            # The bindings of GLib are the distribution's.
            sys.path.append("/usr/lib/python3/dist-packages")
        else:
            sys.modules["portalocker"] = None
        from msal_extensions import FilePersistence, LibsecretPersistence, PersistedTokenCache
        self.cache = PersistedTokenCache(
            LibsecretPersistence(path, schema_name="com.contoso.tokens", attributes={"product": "desk"})
            if kind == "keyring" else FilePersistence(path))
        self.program = msal.PublicClientApplication(CLIENT, authority=AUTHORITY, token_cache=self.cache)

    def sign_in(self):
        flow = self.program.initiate_device_flow(scopes=["first"])
        assert "access_token" in self.program.acquire_token_by_device_flow(flow)

    def token(self, scope):
        accounts = self.program.get_accounts(NAME)
        if len(accounts) != 1:
            raise NoAccount("the accounts are %r" % accounts)
        result = self.program.acquire_token_silent([scope], account=accounts[0])
        if not result or "access_token" not in result:
            raise NoAccount("the result is %r" % result)
        return result["access_token"]


class AzureIdentity:
    """A program with azure-identity's persistent cache. It asks for tokens through a credential."""

    def __init__(self):
        from azure.identity import AuthenticationRecord, DeviceCodeCredential, TokenCachePersistenceOptions
        from azure.identity._persistent_cache import _load_persistent_cache
        options = TokenCachePersistenceOptions(allow_unencrypted_storage=True)
        record = AuthenticationRecord(TENANT, CLIENT, HOST, PERSON + "." + TENANT, NAME)
        self.cache = _load_persistent_cache(options)
        self.credential = DeviceCodeCredential(
            authentication_record=record, cache_persistence_options=options, disable_automatic_authentication=True,
            prompt_callback=lambda *_: None)

    def sign_in(self):
        self.credential.authenticate(scopes=["first"])

    def token(self, scope):
        from azure.identity import AuthenticationRequiredError
        try:
            return self.credential.get_token(scope).token
        except AuthenticationRequiredError as failure:
            raise NoAccount(str(failure))


class AzureCLI:
    """What the Azure CLI does for `az login` and `az account get-access-token`."""

    def __init__(self):
        from azure.cli.core.auth.identity import Identity
        from azure.cli.core.auth.persistence import load_persisted_token_cache
        self.identity = Identity("https://" + HOST, tenant_id=TENANT)
        self.cache = load_persisted_token_cache(os.path.join(os.environ["AZURE_CONFIG_DIR"], "msal_token_cache"), False)

    def sign_in(self):
        self.identity.login_with_device_code(["first"])

    def token(self, scope):
        from knack.util import CLIError
        try:
            return self.identity.get_user_credential(NAME).acquire_token([scope])["access_token"]
        except CLIError as failure:
            raise NoAccount(str(failure))


which, action = sys.argv[1:3]
program = {"azure-identity": AzureIdentity, "azure-cli": AzureCLI}.get(which, lambda: Msal(which))()

if action == "sign-in":
    program.sign_in()
elif action == "refresh":
    from msal_extensions.token_cache import LockError
    missed, locked = 0, 0
    for _ in range(int(sys.argv[3])):
        name = str(uuid.uuid4())
        while True:
            try:
                token = program.token(name)
                break
            except NoAccount:
                missed += 1
                if sys.argv[4:] != ["again"] or missed > 1000:
                    raise
                time.sleep(0.02)
            except LockError:
                locked += 1
                if locked > 5:
                    raise
        assert token.startswith("python-token-"), "a token for a new scope was in the file"
        print(name, flush=True)
    print("%s: found no account %s times, did not get the lock %s times" % (which, missed, locked), file=sys.stderr)
elif action == "check":
    isOffline = True
    names = sys.stdin.read().split()
    for name in names:
        program.token(name)
    print(len(names), "tokens")
elif action == "secret":
    found = list(program.cache.search(msal.TokenCache.CredentialType.REFRESH_TOKEN))
    assert len(found) == 1, found
    print(found[0]["secret"])
elif action == "hold":
    # The lock of this program's cache, which its own module chose.
    with sys.modules[type(program.cache).__module__].CrossPlatLock(program.cache._lock_location):
        os.kill(os.getpid(), signal.SIGKILL)
