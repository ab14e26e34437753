# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""programs.py IDENTITYCTL CLAUDE CODEX PERSON [--rounds N HOSTS]: Claude Code and Codex themselves, offline, with an entry that
'identityctl integrate' wrote, in four scripts: the first sign-in, tokens that end and are taken back in the middle of a
conversation, a tool that needs more scopes, and twenty programs that are ended and started again. PERSON is the scripted browser.

--rounds prints a table in place of the scripts: HOSTS of each at once, in N rounds, with tokens of 10 s.
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from bed import Model, Resource

IDENTITYCTL, CLAUDE, CODEX, BROWSER = map(os.path.realpath, sys.argv[1:5])
HOSTS = ("claude", "codex")
KEY = "a-key-that-opens-nothing"


class Person:
    """A home with both programs, set up for one server."""

    def __init__(self, root, resource, model):
        self.resource, self.root = resource, pathlib.Path(root)
        home, self.project = self.root / "home", self.root / "project"
        for directory in (home / ".claude", home / ".codex", self.project, self.root / "run", self.root / "bin"):
            directory.mkdir(parents=True, mode=0o700)
        (self.root / "bin/identityctl").symlink_to(IDENTITYCTL)
        self.log = self.root / "person"
        self.variables = {
            "PATH": f"{self.root}/bin:/usr/bin:/bin", "HOME": str(home), "XDG_RUNTIME_DIR": str(self.root / "run"),
            "LANG": "C.UTF-8", "DISPLAY": ":99", "BROWSER": BROWSER, "PERSON_LOG": str(self.log),
            "PERSON_PROFILE": str(self.root / "cookies"), "IDENTITYCTL_CACHE": "file",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}", "ANTHROPIC_API_KEY": KEY, "MODEL_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ENABLE_TOOL_SEARCH": "false",
        }
        (home / ".claude.json").write_text(json.dumps({
            "hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY], "rejected": []},
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
        }))
        (home / ".codex/config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "test"\n[model_providers.test]\nname = "Test"\n'
            f'base_url = "http://127.0.0.1:{model.port}/v1"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
            'request_max_retries = 0\nstream_max_retries = 0\n'
            f'[projects."{self.project}"]\ntrust_level = "trusted"\n'
        )
        for tool in ("claude-code", "codex"):
            self.tool("integrate", tool, "--resource", resource.url, "--name", "notes")
        # Codex gives a server the variables that its entry names; the scripted browser has some of its own.
        path = home / ".codex/config.toml"
        path.write_text(path.read_text().replace('"BROWSER"', '"BROWSER", "PERSON_LOG", "PERSON_PROFILE"'))

    def tool(self, *words):
        subprocess.run(
            [IDENTITYCTL, *words], env=self.variables, cwd=self.project, check=True, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )

    def start(self, host, steps):
        prompt = "STEPS:" + json.dumps(steps)
        words = [CODEX, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", prompt]
        if host == "claude":
            words = [CLAUDE, "-p", prompt, "--allowedTools", "mcp__notes", "--output-format", "stream-json", "--verbose"]
        return subprocess.Popen(
            words, env=self.variables, cwd=self.project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )

    def run(self, host, steps):
        """What the program wrote."""
        process = self.start(host, steps)
        try:
            return process.communicate(timeout=110)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "TIMEOUT " + process.communicate()[0]

    def processes(self):
        """The processes in this home, by their numbers."""
        mark, found = f"HOME={self.variables['HOME']}".encode(), {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                pass
        return found

    def end(self):
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


def expect(is_right, what, *details):
    if not is_right:
        raise SystemExit(f"ERROR: {what}: {details}")


def echo(text):
    return ["echo", {"text": str(text)}]


def first_sign_in(person, model, host):
    """The program offers one tool, which signs in. The server's own are there in the next conversation at the latest."""
    resource = person.resource
    before = dict(resource.count)
    written = person.run(host, [["sign_in", {}]]) + person.run(host, [echo(1)])
    expect(any("Signed in." in said for said in model.said), "the tool does not sign in", model.said, written[-2000:])
    expect("echo 1" in model.said[-1], "the server's tools are not there", model.said, written[-2000:])
    expect(resource.count["page"] - before["page"] == 1, "not one page", resource.count)
    # Once 49 s passed, and nobody knows why.
    expect(resource.wait < 20, "the page came long after the registration", resource.wait)


def ends_in_the_middle(person, model, host):
    resource = person.resource
    model.hooks = {"back": resource.take_back, "end": resource.end}
    before = dict(resource.count)
    written = person.run(host, [echo(1), ["!back"], echo(2), ["!end"], echo(3)])
    expect([said.strip()[-6:] for said in model.said] == ["echo 1", "echo 2", "echo 3"], "a call failed", model.said, written[-2000:])
    expect(resource.count["page"] - before["page"] == 1, "not one page", before, resource.count)
    expect(resource.count["refresh"] - before["refresh"] <= 2, "more than one refresh", before, resource.count)


def more_scopes(person, model, host):
    resource = person.resource
    model.hooks = {"need": lambda: resource.needed.update(admin="admin")}
    before = dict(resource.count)
    written = person.run(host, [echo(1), ["!need"], ["admin", {"text": "2"}]])
    expect("admin 2" in model.said[-1], "the tool is not called", model.said, written[-2000:])
    expect(resource.count["page"] - before["page"] == 1, "not one page", before, resource.count)


def kills(person, model):
    """Twenty programs, of which each is ended at a random moment, and another one starts, while tokens end after 4 s."""
    resource = person.resource
    resource.lifetime = 4
    resource.take_back()
    steps = [echo(n) if n % 2 else ["slow", {"text": str(n)}] for n in range(6)]
    for _ in range(3):
        running = [person.start(HOSTS[n % 2], steps) for n in range(20)]
        for process in running:
            time.sleep(random.uniform(0, 0.6))
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    resource.lifetime = 3600
    before = dict(resource.count)
    for host in HOSTS:
        written = person.run(host, [echo("after")])
        expect("echo after" in model.said[-1], "the sign-in is lost", model.said, resource.count, written[-2000:])
    expect(resource.count["page"] == before["page"] and resource.count["reuse"] == 0, "a page, or a reuse", before, resource.count)
    deadline = time.time() + 15
    while (left := person.processes()) and time.time() < deadline:
        time.sleep(0.2)
    expect(not left, "processes are left", left)


def scripts(root):
    for host in HOSTS:
        resource, model = Resource(), Model()
        person = Person(f"{root}/{host}", resource, model)
        try:
            for script in (first_sign_in, ends_in_the_middle, more_scopes):
                began = time.time()
                model.said.clear()
                script(person, model, host)
                print(f"    {host}: {script.__name__.replace('_', ' ')}, {time.time() - began:.0f} s", flush=True)
                forget_question(person)
        finally:
            person.end()
    resource, model = Resource(), Model()
    person = Person(f"{root}/both", resource, model)
    try:
        person.tool("login", "--resource", resource.url)
        began = time.time()
        kills(person, model)
        print(f"    sixty programs ended at random moments, {time.time() - began:.0f} s: {resource.count}", flush=True)
    finally:
        person.end()


def forget_question(person):
    """A minute passes, in which no other page opens."""
    for note in pathlib.Path(person.variables["HOME"]).glob(".local/state/identityctl/helper-sign-in/*/asked"):
        os.utime(note, (time.time() - 61, time.time() - 61))


def rounds(root, count, hosts):
    resource, model = Resource(lifetime=10), Model()
    person = Person(f"{root}/rounds", resource, model)
    try:
        person.tool("login", "--resource", resource.url)
        for number in range(count):
            before, began = dict(resource.count), time.time()
            model.said.clear()
            steps = [echo(number), ["slow", {"text": str(number)}], echo(number)]
            running = [person.start(host, steps) for _ in range(hosts) for host in HOSTS]
            for process in running:
                process.communicate(timeout=300)
            bad = [said for said in model.said if not said.strip().endswith(f" {number}")]
            good = len(model.said) - len(bad)
            news = {name: value - before[name] for name, value in resource.count.items()}
            print(f"round {number}: {good} of {6 * hosts} answers, {time.time() - began:.0f} s, {news}, {len(bad)} other answers: {sorted(set(bad))[:3]}", flush=True)
    finally:
        person.end()


with tempfile.TemporaryDirectory(prefix="programs-") as place:
    if "--rounds" in sys.argv:
        rounds(place, *map(int, sys.argv[sys.argv.index("--rounds") + 1:][:2]))
    else:
        scripts(place)
