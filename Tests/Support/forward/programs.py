# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""programs.py ENDS IDENTITYCTL PERSON [CLAUDE CODEX]: real programs behind the forwarder, at an API on the loopback interface that takes a
person's tokens and nothing else. PERSON is the scripted browser. Each program: works; a token is taken back; a person is needed; the
sign-in ends; the API is away; the forwarder is killed and started again. Claude Code also goes through ENDS ends of a token in one
conversation, where nothing but the forwarder's socket is left of the person's files.
"""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "resources"))
from bed import Listener, Model, Resource

ENDS = int(sys.argv[1])
IDENTITYCTL, BROWSER, *AI = map(os.path.realpath, sys.argv[2:])


class API:
    """A model, a registry of npm, an index of pip and a repository of git, for tokens of a `Resource`."""

    def __init__(self, resource, root):
        self.resource, self.model, self.files, self.port = resource, Model(), {}, 0
        self.passed = self.refused = 0
        self.open()
        self.add_files(pathlib.Path(root))

    def open(self):
        self.listener = Listener(self, self.port)
        self.port, self.is_open = self.listener.server_port, True
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self):
        self.is_open = False
        self.listener.shutdown()
        self.listener.server_close()

    def handle(self, request):
        path = request.path.split("?")[0]
        if not self.is_open:
            raise ConnectionResetError
        if path.startswith("/.well-known/oauth-protected-resource"):
            return request.answer(
                200, {"resource": self.url, "authorization_servers": [self.resource.base], "scopes_supported": ["notes"]}
            )
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.resource.access.get(token, ("", 0))[1] < time.time():
            self.refused += 1
            return request.answer(401, {"error": "invalid_token"}, WWW_Authenticate='Bearer error="invalid_token"')
        self.passed += 1
        if path in self.files:
            kind, data = self.files[path]
            request.send_response(200)
            request.send_header("Content-Type", kind)
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            return request.wfile.write(data)
        return self.model.handle(request) if path.startswith("/v1/") else request.answer(404, {"error": "not_found"})

    def add_files(self, root):
        self.files["/hello"] = ("text/plain", b"welcome\n")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            text = json.dumps({"name": "parcel", "version": "1.0.0"}).encode()
            entry = tarfile.TarInfo("package/package.json")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        tarball = "/parcel/-/parcel-1.0.0.tgz"
        self.files[tarball] = ("application/octet-stream", packed.getvalue())
        versions = {"1.0.0": {"name": "parcel", "version": "1.0.0", "dist": {"tarball": self.url + tarball}}}
        about = {"name": "parcel", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
        self.files["/parcel"] = ("application/json", json.dumps(about).encode())
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("crate_of_eggs-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: crate-of-eggs\nVersion: 1.0\n")
            archive.writestr("crate_of_eggs-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr("crate_of_eggs-1.0.dist-info/RECORD", "")
        wheel = "crate_of_eggs-1.0-py3-none-any.whl"
        self.files[f"/crate-of-eggs/{wheel}"] = ("application/octet-stream", packed.getvalue())
        self.files["/crate-of-eggs/"] = ("text/html", f'<a href="{wheel}">{wheel}</a>'.encode())
        work, bare = root / "work", root / "one.git"
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.test", "-C"]
        subprocess.run(["git", "init", "--quiet", work], check=True)
        (work / "file").write_text("welcome\n")
        subprocess.run([*git, work, "add", "file"], check=True)
        subprocess.run([*git, work, "commit", "--quiet", "--message", "One"], check=True)
        subprocess.run(["git", "clone", "--quiet", "--bare", work, bare], check=True)
        subprocess.run([*git, bare, "update-server-info"], check=True)
        for file in bare.rglob("*"):
            if file.is_file():
                self.files[f"/one.git/{file.relative_to(bare)}"] = ("application/octet-stream", file.read_bytes())


class Person:
    """A home with a profile for the API. `run` is for sockets."""

    def __init__(self, root, resource, api):
        self.root, self.resource, self.api = pathlib.Path(root), resource, api
        self.home, self.project = self.root / "home", self.root / "project"
        for directory in (self.home, self.project, self.root / "run"):
            directory.mkdir(mode=0o700)
        self.variables = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.root / "run"), "LANG": "C.UTF-8",
            "DISPLAY": ":99", "BROWSER": BROWSER, "PERSON_LOG": str(self.root / "person"),
            "PERSON_PROFILE": str(self.root / "cookies"), "IDENTITYCTL_CACHE": "file",
        }
        self.prepare(self.home)
        self.login()
        self.tool("profile", "add", "api", "--resource", api.url)
        self.tool("profile", "set", "api", f"serves+={api.url}", f"forward={api.url}")
        self.socket = self.root / "run/identityctl/forward/api.sock"

    def prepare(self, home):
        """What Claude Code and Codex ask at their first start."""
        for directory in (".claude", ".codex"):
            (home / directory).mkdir()
        (home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }))
        (home / ".codex/config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "test"\n[model_providers.test]\nname = "Test"\nwire_api = "responses"\n'
            f'env_key = "OPENAI_API_KEY"\n[projects."{self.project}"]\ntrust_level = "trusted"\n'
        )

    def tool(self, *words, statuses=(0,)):
        ran = subprocess.run(
            [IDENTITYCTL, *words], env=self.variables, cwd=self.project, capture_output=True, stdin=subprocess.DEVNULL, text=True
        )
        expect(ran.returncode in statuses, words, ran.stderr)

    def login(self):
        self.tool("login", "--resource", self.api.url, "--issuer", self.resource.base)

    def logout(self):
        self.tool("logout", "--everywhere", statuses=(0, 10))  # the server revokes nothing

    def start(self):
        """The forwarder, once it listens."""
        forwarder = subprocess.Popen(
            [IDENTITYCTL, "forward"], env=self.variables, cwd=self.project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )
        lines = iter(forwarder.stderr.readline, "")
        expect(any("The forwarder listens." in line for line in lines), "the forwarder does not start")
        threading.Thread(target=list, args=(lines,), daemon=True).start()
        return forwarder


def expect(is_right, what, *details):
    if not is_right:
        raise SystemExit(f"ERROR: {what}: {details}")


STEPS = "STEPS:" + json.dumps([["Bash", {"command": "echo welcome"}]])
CLAUDE = ["-p", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose"]
# The provider's address in Codex's settings ends in /v1. Retries would take minutes where the API is away.
CODEX = (
    'exec "$0" exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox'
    ' -c model_providers.test.base_url="\\"$OPENAI_BASE_URL/v1\\"" -c model_providers.test.request_max_retries=0'
    ' -c model_providers.test.stream_max_retries=0 "$1"'
)


class Program:
    """A program, and how it shows that it got what it wanted."""

    def __init__(self, name, recipe, command, welcome, shows_reasons):
        self.name, self.recipe, self.command, self.welcome, self.shows_reasons = name, recipe, command, welcome, shows_reasons

    def run(self, person, through=None, recipe=None, command=None):
        """Whether it worked, and what it wrote."""
        for place in person.project.iterdir():
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        options = through or ["--profile", "api"]
        ran = subprocess.run(
            [IDENTITYCTL, "exec", "--forward", recipe or self.recipe, *options, "--", *(command or self.command)],
            env=person.variables, cwd=person.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=110,
        )
        found = self.welcome(person.project, ran.stdout)
        expect((ran.returncode == 0) >= found, f"{self.name} says that it failed, and did not", ran.stdout)
        return found, ran.stdout


def wrote(text):
    return lambda _, written: text in written


def made(path):
    return lambda project, _: (project / path).exists()


def programs():
    http = "-H \"x-api-key: $IDENTITYCTL_FORWARD_PHANTOM\" \"$IDENTITYCTL_FORWARD_URL/hello\""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-cache-dir", "--retries=0", "--no-deps", "crate-of-eggs"]
    npm = ["npm", "install", "--no-audit", "--no-fund", "--fetch-retries=0", "parcel"]
    found = [
        Program("curl", "http", ["/bin/sh", "-c", f"curl --silent --fail-with-body {http}"], wrote("welcome"), True),
        Program("npm", "npm", npm, made("node_modules/parcel"), False),
        Program("pip", "pip", pip, made("crate_of_eggs-1.0-py3-none-any.whl"), False),
        Program("git", "git", ["git", "clone", "--quiet", "API/one.git"], made("one/file"), False),
    ]
    if not shutil.which("npm"):
        print("NOT RUN: npm", file=sys.stderr)
        del found[1]
    if AI:
        claude, codex = AI
        found += [
            Program("Claude Code", "claude-code", [claude, *CLAUDE, STEPS], wrote('"result":"finished"'), True),
            Program("Codex", "openai", ["/bin/sh", "-c", CODEX, codex, "Say so."], wrote('"text":"finished"'), True),
        ]
    return found


def cases(program, person):
    api, resource = person.api, person.resource
    program.command = [word.replace("API/", f"{api.url}/") for word in program.command]

    def works(what, **how):
        before = dict(resource.count)
        found, written = program.run(person, **how)
        expect(found, f"{program.name}, {what}: it does not work", written[-2000:], resource.count)
        return {name: value - before[name] for name, value in resource.count.items()}

    def fails(what, *reasons):
        before = api.passed
        found, written = program.run(person)
        expect(not found and api.passed == before, f"{program.name}, {what}: it does not fail", written[-2000:])
        expect(not program.shows_reasons or any(reason in written for reason in reasons), f"{program.name}, {what}: no reason", written[-2000:])

    expect(works("at first")["refresh"] == 0, "a renewal for a good token")
    resource.take_back()
    expect(works("a token taken back")["refresh"] == 1, "not one renewal", resource.count)
    api.close()
    if program.recipe == "claude-code":  # it tries again, for minutes
        threading.Timer(5, api.open).start()
    else:
        fails("the API is away", "no token was sent there")
        api.open()
    works("the API is there again")
    resource.end()
    fails("the sign-in has ended", "identityctl login")
    person.logout()
    fails("nobody is signed in", "identityctl login")
    person.login()
    works("signed in again")
    at = {"through": ["--forward-at", str(person.socket)]}
    if program.recipe == "git":  # what the recipe needs to know is not known where only the socket is
        address = "http://x:$IDENTITYCTL_FORWARD_PHANTOM@${IDENTITYCTL_FORWARD_URL#http://}/one.git"
        at |= {"recipe": "http", "command": ["/bin/sh", "-c", f'git clone --quiet "{address}"']}
    for what in ("a forwarder", "a forwarder after another that was killed"):
        forwarder = person.start()
        try:
            works(what, **at)
        finally:
            forwarder.kill()
            forwarder.wait()
    expect(resource.count["reuse"] == 0, "a refresh token was used twice", resource.count)


def many_ends(program, person, claude):
    """Before each turn the token ends. Of the person's files nothing but the socket is there."""
    api, resource = person.api, person.resource
    steps = [["Bash", {"command": f"env; tr '\\0' '\\n' </proc/$PPID/environ; ls -aR {person.home}"}]]
    steps += [["Bash", {"command": f"sleep 1.1; echo turn {number}"}] for number in range(ENDS)]
    other = person.root / "other"
    other.mkdir()
    person.prepare(other)
    hidden = f'mount -t tmpfs none "{person.home}" && exec "$@"'
    resource.take_back()
    resource.lifetime = 1
    before = dict(resource.count)
    forwarder = person.start()
    try:
        ran = subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-c", hidden, "sh", IDENTITYCTL, "exec", "--forward", program.recipe, "--forward-at",
             str(person.socket), "--", claude, *CLAUDE, "STEPS:" + json.dumps(steps)],
            env=person.variables | {"HOME": str(other)}, cwd=person.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60 + 10 * ENDS,
        )
    finally:
        forwarder.kill()
        forwarder.wait()
    is_whole = all(f'"content":"turn {number}"' in ran.stdout for number in range(ENDS))
    expect(ran.returncode == 0 and is_whole, "the conversation broke off", ran.stdout[-4000:])
    renewals = resource.count["refresh"] - before["refresh"]
    expect(renewals >= ENDS and resource.count["page"] == before["page"] and resource.count["reuse"] == 0, "renewals", resource.count)
    expect("fwd_" in ran.stdout and not re.search(r"\b[ar]t-[\w-]{16}", ran.stdout), "a token is in the conversation", ran.stdout)
    print(f"    {ENDS} ends of a token in one conversation: {renewals} renewals, {api.refused} refused requests so far", flush=True)


with tempfile.TemporaryDirectory(prefix="forward-") as place:
    for program in programs():
        began = time.time()
        root = pathlib.Path(place, program.recipe)
        (root / "files").mkdir(parents=True)
        resource = Resource()
        person = Person(root, resource, API(resource, root / "files"))
        cases(program, person)
        print(f"    {program.name}: {time.time() - began:.0f} s", flush=True)
        if program.recipe == "claude-code" and os.geteuid() == 0:
            many_ends(program, person, AI[0])
