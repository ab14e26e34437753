# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The writes that are tried, what the tool finds afterwards, and what it may find.

A scenario has commands before the recorded one, the recorded one, a question to the tool about a disk, which gives a label,
and the labels that are allowed at each moment. A label that begins with "broken" is never allowed.

The moments are what others can see: the code or refresh token that was sent, and the answer that the tool gave (an access
token on any way out of the process, its message that the work is done, or its end).
"""
import hashlib
import json
import os
import re
import subprocess
from dataclasses import dataclass, field

from provider import TENANT

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 20  # seconds: the tool's answer about a disk; a lease of a dead process must not hold it up
SENT = re.compile(rb"refresh_token=RT\.(\d+)")
GIVEN = re.compile(rb"AT\.(\d+)")


@dataclass
class Moment:
    """What others know so far: the newest refresh token that was sent, the newest that was given out, and the end."""

    code: bool = False
    sent: int = -1
    given: int = 0
    done: bool = False

    def after(self, event, scenario):
        if event.kind == "exit":
            return Moment(self.code, self.sent, self.given, True)
        data = event.values["bytes"]
        sent = [int(number) for number in SENT.findall(data)]
        given = [int(number) for number in GIVEN.findall(data)]
        done = event.values["fd"] in (1, 2) and scenario.done is not None and scenario.done.encode() in data
        return Moment(
            self.code or b"grant_type=authorization_code" in data,
            max([self.sent] + sent),
            max([self.given] + given),
            self.done or done,
        )


class Tool:
    """The tool with a home of its own below `root`."""

    def __init__(self, program, provider, root):
        self.program, self.provider, self.root = program, provider, root

    def environment(self, more=None):
        issuer, root = self.provider.issuer, self.root
        return {
            "PATH": "/usr/bin:/bin", "HOME": f"{root}/home", "XDG_STATE_HOME": f"{root}/state",
            "XDG_RUNTIME_DIR": f"{root}/run",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:", "DISPLAY": ":99", "IDENTITYCTL_SCOPE": "read",
            "IDENTITYCTL_CLIENT_ID": "test-client", "IDENTITYCTL_AUTHORIZATION_ENDPOINT": f"{issuer}/authorize",
            "IDENTITYCTL_TOKEN_ENDPOINT": f"{issuer}/token", "IDENTITYCTL_CACHE": f"file:{root}/state/cache",
            "IDENTITYCTL_BROWSER": f"/usr/bin/python3 {HERE}/browser.py",
        } | {name: value for name, value in self.expanded(more or {}).items()}

    def expanded(self, more):
        return {name: self.place(value) for name, value in more.items()}

    def place(self, text):
        return text.replace("{root}", self.root).replace("{issuer}", self.provider.issuer)

    def command(self, arguments):
        return [self.program] + [self.place(argument) for argument in arguments]

    def run(self, arguments, more=None, text=b""):
        environment = {name: value for name, value in self.environment(more).items() if value != ""}
        return subprocess.run(
            self.command(arguments), env=environment, input=text, capture_output=True, timeout=PATIENCE, cwd="/"
        )


def broken(result):
    return f"broken: status {result.returncode}: {(result.stderr or result.stdout).decode(errors='replace').strip()[:300]}"


def set_aside(tool):
    """The names of records that could not be read."""
    return [name for _, _, names in os.walk(tool.root) for name in names if ".corrupt-" in name]


def account(tool, scenario, *more):
    """Which refresh token the tool has: it sends it, and the provider says which it was."""
    result = tool.run(["token", "--force-refresh", "--json", *more], scenario.variables)
    if aside := set_aside(tool):
        return f"broken: records were set aside: {' '.join(aside)}"
    if result.returncode == 2 and error_of(result) in NO_ACCOUNT:
        return "none"
    try:
        token = json.loads(result.stdout)["accessToken"]
    except (ValueError, KeyError):
        return broken(result)
    return "RT." + token.removeprefix("PROBE.") if token.startswith("PROBE.") and not result.stderr else broken(result)


NO_ACCOUNT = {"interaction_required.no_account", "interaction_required.no_tokens"}


def error_of(result):
    """The code of the error that the tool printed as JSON."""
    for line in result.stderr.splitlines():
        try:
            return json.loads(line)["error"]["code"]
        except (ValueError, KeyError, TypeError):
            continue
    return None


def plain(tool, scenario):
    """The account, and whether a refresh token stands on the disk in clear."""
    clear = False
    for folder, _, names in os.walk(tool.root):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                clear = clear or b"RT." in file.read()
    return account(tool, scenario) + (" in clear" if clear else "")


def with_token_file(tool, scenario):
    """The account, and the token in the file: one that was given out, or no file."""
    path = f"{tool.root}/token"
    try:
        with open(path, encoding="ascii") as file:
            text = file.read()
    except FileNotFoundError:
        text = "AT.0"
    found = account(tool, scenario)
    return found if re.fullmatch(r"AT\.\d+", text) else f"broken: the token file has {text!r}"


def key(tool, scenario):
    """Whether there is a key that encrypts."""
    exists = os.path.lexists(f"{tool.root}/home/keys/key")
    result = tool.run(["import", "--refresh-token-file", "-", "--json"], scenario.variables, b"RT.0")
    if result.returncode == 0:
        return "key"
    return broken(result) if exists or error_of(result) != "cache.key_unavailable" else "none"


def shared(tool, scenario):
    """The account in the file of other programs, after the folder beside it has got the name of this disk's place."""
    folder, place = f"{tool.root}/state/swift-identity-client/shared", tool.place(SHARED["IDENTITYCTL_CACHE"]).removeprefix("msal:")
    name = hashlib.sha256(f"6:shared{len(place.encode())}:{place}".encode()).hexdigest()[:32]
    for other in os.listdir(folder) if os.path.isdir(folder) else []:
        os.rename(f"{folder}/{other}", f"{folder}/{name}")
    return account(tool, scenario)


def profile(tool, scenario):
    result = tool.run(["profile", "show", "work", "--json"], scenario.variables)
    if result.returncode == 0:
        return "scopes " + " ".join(re.findall(r"scope-\w+", result.stdout.decode()))
    return "none" if b"no profile" in result.stderr and not os.path.lexists(profile_file(tool)) else broken(result)


def profile_file(tool):
    return f"{tool.root}/home/.config/identityctl/profiles/work.conf"


def registration(tool, scenario):
    known = tool.run(["registration", "list", "--json"], scenario.variables)
    if known.returncode != 0:
        return broken(known)
    has = "registered" if b"client-" in known.stdout else "unknown"
    return f"{has}, {account(tool, scenario, '--resource', tool.place('{issuer}/api'))}"


@dataclass
class Scenario:
    name: str
    command: list
    label: object
    allowed: object
    before: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)
    done: str = None
    text: bytes = b""
    lifetime: int = 3600
    ends_after: float = None
    is_heir: bool = False  # another process was killed at one of its syncs before

    @staticmethod
    def newest(disk):
        """The number of the newest refresh token in a record."""
        records = [content or b"" for path, (_, _, content) in disk.items() if "/account-" in path]
        found = [re.findall(rb"RT\.(\d+)", content) for content in records]
        return max((int(number) for numbers in found for number in numbers), default=-1)


SIGN_IN = (["import", "--refresh-token-file", "-"], b"RT.0")
ADD_PROFILE = ["profile", "add", "work", "--client-id", "test-client", "--issuer", "{issuer}", "--scope", "scope-one"]
# Another program's file, which has accounts of Entra ID only. What is beside it is in a folder that is named for its place.
SHARED = {
    "IDENTITYCTL_CACHE": "msal:{root}/state/msal.json", "IDENTITYCTL_AUTHORITY": "{issuer}/" + TENANT,
    "IDENTITYCTL_AUTHORIZATION_ENDPOINT": "", "IDENTITYCTL_TOKEN_ENDPOINT": "",
}
# A credential, because the name of the encrypted store's folder is made of the key's place, and each disk has another path.
SEALED = {"IDENTITYCTL_CACHE": "encrypted:credential=key", "CREDENTIALS_DIRECTORY": "{root}/home"}
MAKE_KEY = (["cache", "create-key", "{root}/home/key"], b"")
DEFAULT = {"IDENTITYCTL_CACHE": "", "CREDENTIALS_DIRECTORY": "{root}/home"}
RESOURCE = {
    name: "" for name in
    ("IDENTITYCTL_CLIENT_ID", "IDENTITYCTL_AUTHORIZATION_ENDPOINT", "IDENTITYCTL_TOKEN_ENDPOINT", "IDENTITYCTL_SCOPE")
}


def new_account(moment):
    if moment.done or moment.given:
        return {"RT.1"}
    return {"none", "RT.1"} if moment.code or moment.sent >= 0 else {"none"}


def refreshed(moment):
    """The token that was sent last, or its successor; once that is given out, only the successor."""
    last = max(moment.sent, 1)
    if moment.given > last:
        return {f"RT.{last + 1}"}
    return {f"RT.{last}"} if moment.sent < 1 else {f"RT.{last}", f"RT.{last + 1}"}


def moved(moment):
    return {"RT.1"} if moment.done else {"RT.1", "RT.1 in clear"}


def moved_out(moment):
    return {"RT.1 in clear"} if moment.done else {"RT.1", "RT.1 in clear"}


def either(old, new):
    return lambda moment: {new} if moment.done else {old, new}


def registered(moment):
    both = "registered, RT.1"
    if moment.done or moment.given:
        return {both}
    return {"unknown, none", "registered, none"} | ({both} if moment.code else set())


ALL = [
    Scenario("sign-in", ["login"], account, new_account, done="Signed in"),
    Scenario("refresh", ["token", "--force-refresh"], account, refreshed, before=[SIGN_IN]),
    Scenario("heir", ["token", "--force-refresh"], account, refreshed, before=[SIGN_IN], is_heir=True),
    Scenario("removal", ["logout"], account, either("RT.1", "none"), before=[SIGN_IN], done="Signed out"),
    Scenario("encrypted", ["token", "--force-refresh"], account, refreshed, before=[MAKE_KEY, SIGN_IN], variables=SEALED),
    Scenario("shared-file", ["token", "--force-refresh"], shared, refreshed, before=[SIGN_IN], variables=SHARED),
    Scenario("shared-sign-in", *SIGN_IN[:1], shared, new_account, text=SIGN_IN[1], variables=SHARED, done="Signed in"),
    Scenario(
        "shared-removal", ["logout"], shared, either("RT.1", "none"), before=[SIGN_IN], variables=SHARED, done="Signed out",
    ),
    Scenario(
        "move", ["cache", "move", "--to", "encrypted:credential=key"], plain, moved,
        before=[MAKE_KEY, (["cache", "move", "--to", "file"], b""), SIGN_IN], variables=DEFAULT, done="From now on",
    ),
    Scenario(
        "move-out", ["cache", "move", "--to", "file"], plain, moved_out,
        before=[MAKE_KEY, (["cache", "move", "--to", "encrypted:credential=key"], b""), SIGN_IN], variables=DEFAULT,
        done="From now on",
    ),
    Scenario(
        "key", ["cache", "create-key", "{root}/home/keys/key"], key, either("none", "key"),
        variables={"IDENTITYCTL_CACHE": "encrypted:key-file={root}/home/keys/key"},
    ),
    Scenario("profile", ADD_PROFILE, profile, either("none", "scopes scope-one")),
    Scenario(
        "profile-change", ["profile", "set", "work", "scope=scope-two"], profile,
        either("scopes scope-one", "scopes scope-two"), before=[(ADD_PROFILE, b"")],
    ),
    Scenario(
        "profile-removal", ["profile", "remove", "work"], profile, either("scopes scope-one", "none"),
        before=[(ADD_PROFILE, b"")],
    ),
    Scenario(
        "registration", ["login", "--resource", "{issuer}/api"], registration, registered, variables=RESOURCE, done="Signed in",
    ),
    Scenario("import", *SIGN_IN[:1], account, new_account, text=SIGN_IN[1], done="Signed in"),
    Scenario(
        "token-file", ["token", "--watch", "--output", "{root}/token"], with_token_file, refreshed, before=[SIGN_IN],
        lifetime=3, ends_after=3.5,
    ),
]
SHORT = ("sign-in", "refresh", "removal", "move", "move-out", "key", "profile", "profile-change", "profile-removal", "import")
