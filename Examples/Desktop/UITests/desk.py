# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A desk to drive the programs at: a display, a session bus, an unlocked keyring, a stand-in for the cloud, a person.

`with Desk(binaries) as desk:` has all of it, and ends what it has started. The programs are driven as a screen reader
would: by what their widgets are called (AT-SPI), and by keys.

Needs Xvfb, xdotool, dbus-run-session, at-spi2-core, gnome-keyring, ImageMagick's import and convert, python3-pyatspi.
"""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tty
import urllib.parse
import urllib.request

TIMEOUT = 60.0
# What GTK and the libraries below it say when a program uses them wrongly.
WARNING = re.compile(r"\((?:\S*/)?(?:Minimal|QuickStart|GraphSearch|TodoList|io\.github\S*):\d+\): \S+-(WARNING|CRITICAL)")
HERE = pathlib.Path(__file__).resolve().parent
SUPPORT = HERE.parents[2] / "Tests" / "Support"
DESKTOP_PERSON = {"BROWSER": str(HERE / "desktop-person")}


class Failure(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failure("expected: " + what)


def wait(what, look, seconds=TIMEOUT):
    """What `look` gives as soon as it gives something; says what it has waited for otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(RuntimeError, LookupError, ValueError):  # widgets that went away meanwhile
            found = look()
            if found:
                return found
        if time.monotonic() > deadline:
            raise Failure(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.05)


def session(display=None):
    """Starts this script again in a session bus of its own, on a display of its own; returns inside of it."""
    if os.environ.get("DESK_SESSION"):
        return
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", *([f":{display}"] if display else []), "-displayfd", str(write), "-screen", "0", "1000x800x24"]
        + ["-nolisten", "tcp", "-noreset"], pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        number = os.read(read, 16).decode().strip()
        if not number:
            raise Failure("Xvfb did not start")
        home = tempfile.mkdtemp(prefix="desk-")
        environment = {  # without GL: in software, it keeps a busy machine from answering for half a minute
            "PATH": f"{home}/.local/bin:{os.environ['PATH']}", "LANG": "C.UTF-8", "HOME": home, "DISPLAY": ":" + number, "DESK_SESSION": home,
            "XDG_RUNTIME_DIR": os.path.join(home, "run"), "GDK_BACKEND": "x11", "GSETTINGS_BACKEND": "memory",
            "GTK_A11Y": "atspi", "GSK_RENDERER": "cairo", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "0",
            "SPEECHD_ADDRESS": "unix_socket:/nowhere",  # the screen reader has no voice, and writes down what it says
            **{name: os.environ[name] for name in ("CHROMIUM", "DESK_KEEP") if name in os.environ},
        }
        os.mkdir(environment["XDG_RUNTIME_DIR"], 0o700)
        settings = pathlib.Path(home, ".config", "gtk-4.0", "settings.ini")
        settings.parent.mkdir(parents=True)
        # As on GNOME's desktop; but pages do not slide, except where it is heard what is said when they do.
        slides = int("screenreader" in sys.argv[0])
        settings.write_text(f"[Settings]\ngtk-decoration-layout=icon:close\ngtk-enable-animations={slides}\n")
        # AT-SPI's library can bring the drive down: where it was then, is told.
        command = ["dbus-run-session", "--", "/usr/bin/python3", "-B", "-X", "faulthandler", *sys.argv]
        status = subprocess.run(command, env=environment).returncode
        if status == 0:
            shutil.rmtree(home, ignore_errors=True)
        else:
            print(f"The drive ended with status {status}; the logs are in {home}", file=sys.stderr)
        sys.exit(status)
    finally:
        server.terminate()
        server.wait()


class Desk:
    def __init__(self, binaries):
        self.binaries = pathlib.Path(binaries)
        self.home = pathlib.Path(os.environ["DESK_SESSION"])
        self.person_file, self.person_log = self.home / "person", self.home / "person.log"
        self.processes = []

    def __enter__(self):
        import pyatspi  # needs the session's bus
        self.atspi = pyatspi
        self.start_keyring()
        self.stand_in = self.start_stand_in()
        self.seat()
        return self

    def __exit__(self, kind, *_):
        self.end()
        if kind is None:
            warnings = [line for log in self.home.glob("*.log") for line in log.read_text(errors="replace").splitlines()
                        if WARNING.search(line) and "Screen coordinates" not in line]  # Orca asks for them
            expect(not warnings, f"no warnings of GTK, but: {warnings}")

    def end(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()

    def spawn(self, name, command, **options):
        log = open(self.home / f"{name}.log", "ab")
        process = subprocess.Popen(command, **{"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, **options})
        self.processes.append(process)
        return process

    def start_keyring(self, password="throw-away"):
        """Starts a keyring with an unlocked collection of that password; without a password, it has no collection."""
        self.keyring = self.spawn(
            "keyring", ["gnome-keyring-daemon", "--foreground", *(["--unlock"] if password else []), "--components=secrets"],
            stdin=subprocess.PIPE)
        self.keyring.stdin.write(password.encode())
        self.keyring.stdin.close()
        subprocess.run(["gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets"], check=True)

    def without_collection(self):
        """Takes the person's keyring and gives them a new one, which has no collection yet."""
        self.keyring.terminate()
        self.keyring.wait(20)
        shutil.rmtree(self.home / ".local" / "share" / "keyrings")
        self.start_keyring(password="")

    def start_stand_in(self, *arguments):
        process = self.spawn("stand-in", [self.binaries / "stand-in", *arguments], stdout=subprocess.PIPE)
        line = process.stdout.readline().decode().strip()
        if not line.startswith("STAND_IN="):
            raise Failure("the stand-in did not start")
        return line.split("=", 1)[1]

    def install_broker(self, username, password):
        """Installs an identity broker on the person's bus. It has the tokens of one account, from a sign-in of its own."""
        known = self.fetch(self.stand_in + "/stand-in")
        metadata = self.fetch(known["authority"].rstrip("/") + "/v2.0/.well-known/openid-configuration")
        client, verifier = "7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10", "v" * 43
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        answers = {}

        class Redirect(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                answers.update(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Redirect) as listener:
            listener.timeout = 20
            redirect = f"http://127.0.0.1:{listener.server_port}"
            request = {
                "client_id": client, "response_type": "code", "redirect_uri": redirect, "state": "s",
                "scope": "User.Read openid profile offline_access", "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
            address = metadata["authorization_endpoint"] + "?" + urllib.parse.urlencode(request)
            person = {**os.environ, "PERSON_USERNAME": username, "PERSON_PASSWORD": password}
            self.spawn("broker-person", [SUPPORT / "browser" / "form-person", address], env=person)
            listener.handle_request()
        tokens = self.fetch(metadata["token_endpoint"], {
            "client_id": client, "grant_type": "authorization_code", "code": answers["code"], "redirect_uri": redirect,
            "code_verifier": verifier,
        })
        claims = json.loads(base64.urlsafe_b64decode(tokens["id_token"].split(".")[1] + "=="))
        account = {
            "environment": urllib.parse.urlsplit(known["authority"]).netloc, "realm": claims["tid"],
            "homeAccountId": f"{claims['oid']}.{claims['tid']}", "localAccountId": claims["oid"],
            "name": claims["name"], "username": claims["preferred_username"],
        }
        token = {
            "accessToken": tokens["access_token"], "accessTokenType": 0, "account": account,
            "expiresOn": int((time.time() + 3000) * 1000), "grantedScopes": tokens["scope"], "idToken": tokens["id_token"],
            "refreshToken": "",
        }
        (self.home / "answers").write_text(json.dumps({
            "getLinuxBrokerVersion": json.dumps({"linuxBrokerVersion": "2.0.1"}),
            "getAccounts": json.dumps({"accounts": [account]}),
            "acquireTokenSilently": json.dumps({"brokerTokenResponse": token}),
            "removeAccount": "{}",
        }))
        services = pathlib.Path(os.environ["XDG_RUNTIME_DIR"], "dbus-1", "services")
        services.mkdir(parents=True, exist_ok=True)
        name, broker = "com.microsoft.identity.broker1", SUPPORT / "broker" / "stand-in"
        (services / f"{name}.service").write_text(f"[D-BUS Service]\nName={name}\nExec={broker} {self.home}\n")
        bus = ["--session", "--dest", "org.freedesktop.DBus", "--object-path", "/org/freedesktop/DBus"]
        subprocess.run(["gdbus", "call", *bus, "--method", "org.freedesktop.DBus.ReloadConfig"], stdout=subprocess.DEVNULL, check=True)

    def fetch(self, address, form=None):
        """The JSON at an address of the stand-in."""
        body = form and urllib.parse.urlencode(form).encode()
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, body, timeout=20) as answer:
            return json.load(answer)

    def install(self, name):
        """Installs a program in the person's home, so that the desktop opens its addresses with it."""
        command = [HERE.parent / "install", "--binaries", self.binaries, self.home / ".local", name]
        subprocess.run(command, check=True)

    def fault(self, **plan):
        """Has the stand-in's next answers fail: service, fault, times, seconds."""
        request = urllib.request.Request(
            self.stand_in + "/stand-in/faults", json.dumps(plan).encode(), {"Content-Type": "application/json"})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5).close()

    def seat(self, username="alice@example.test", password="correct horse", mode="approve"):
        """Who sits in front of the browser from now on, and what they do."""
        self.person_file.write_text(f"USERNAME={username}\nPASSWORD={password}\nMODE={mode}\n")

    def visits(self):
        """What the person in front of the browser has done so far."""
        if not self.person_log.exists():
            return []
        return [json.loads(line) for line in self.person_log.read_text().splitlines()]

    def openings(self):
        """How often a browser was opened so far. One that is not done yet counts, whatever it still writes."""
        events = [entry["event"] for entry in self.visits()]
        return events.count("exit") + (events[-1:] not in ([], ["exit"]))

    def start(self, name, *arguments, **variables):
        environment = {
            **os.environ, "BROWSER": str(SUPPORT / "browser" / "chromium-person"),
            "PERSON_PROVIDER": str(self.person_file), "PERSON_LOG": str(self.person_log), **variables,
        }
        process = self.spawn(name, [self.binaries / name, *arguments], env=environment)
        return Program(self, process, name)


class Orca:
    """The screen reader: what it says, as its log has it."""

    SPEECH = re.compile(r"SPEECH OUTPUT: '(.*?)'(?: *\{.*)?$")

    def __init__(self, desk):
        self.said, self.seen = [], 0
        # Into a file, the log would come by the page; at a terminal, it comes by the line.
        terminal, line = os.openpty()
        tty.setraw(line)
        threading.Thread(target=self.listen, args=(open(terminal, errors="replace"),), daemon=True).start()
        desk.spawn("orca", ["orca", "--replace", "--disable", "braille", "--debug-file", os.ttyname(line)])
        self.hears("Screen reader on.")

    def listen(self, log):
        for line in log:
            for text in self.SPEECH.findall(line.rstrip()):
                self.said.append(text.strip())

    def hears(self, *texts):
        """Waits until it has said each of the texts, in this order, since the last ones that were waited for."""
        for text in texts:
            def look():
                at = "\n".join(self.said).find(text, self.seen)
                if at >= 0:
                    self.seen = at + len(text)
                return at >= 0
            try:
                wait(f"“{text}”", look)
            except Failure:
                said = "\n".join(self.said)[self.seen:].split("\n")
                raise Failure(f"“{text}” was not said; but: {said}") from None

    def now(self):
        """Forgets what was said before."""
        self.seen = len("\n".join(self.said))

    def after(self, program, keys, *texts):
        """Presses keys in the window that has them, and waits for what is said."""
        self.now()
        program.type(*keys.split())
        self.hears(*texts)


class Program:
    """A program that runs, as a screen reader sees it."""

    def __init__(self, desk, process, name):
        self.desk, self.process, self.name = desk, process, name
        self.root = wait(f"a window of {name}", self.find_root)

    def find_root(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended with status {self.process.returncode}")
        for application in self.desk.atspi.Registry.getDesktop(0):
            if application is not None and application.get_process_id() == self.process.pid and application.childCount:
                return application
        return None

    def all(self, role=None, name=None, node=None):
        """Every widget that is shown now, with a role and a name."""
        node = node or self.root
        for child in list(node):
            if child is None:
                continue
            state = child.getState()
            if child.getRoleName() not in ("frame", "window") and not state.contains(self.desk.atspi.STATE_VISIBLE):
                continue
            if (role is None or child.getRoleName() in role.split("|")) and (name is None or child.name == name):
                yield child
            yield from self.all(role, name, child)

    def see(self, name, role=None, seconds=TIMEOUT):
        """Waits until a widget of that name is shown, and gives it."""
        return wait(f"“{name}” in {self.name}; shown: {self.words()}", lambda: next(self.all(role, name), None), seconds)

    def gone(self, name, role=None):
        wait(f"“{name}” gone from {self.name}", lambda: next(self.all(role, name), None) is None)

    def words(self):
        with contextlib.suppress(Exception):
            return sorted({node.name for node in self.all() if node.name})
        return []

    def has(self, name, role=None):
        return next(self.all(role, name), None) is not None

    def click(self, name, role=None):
        widget = self.see(name, role)
        wait(f"“{name}” can be used", lambda: widget.getState().contains(self.desk.atspi.STATE_SENSITIVE))
        widget.queryAction().doAction(0)

    def click_in(self, window, name, role=None):
        """Clicks in one of several windows, by its title."""
        button = next(self.all(role, name, self.see(window, "frame|window")))
        button.queryAction().doAction(0)

    def press(self, name, role=None):
        """Clicks with the mouse: some of GTK 4.8's widgets offer a screen reader no action."""
        widget, window = self.see(name, role), self.window()
        frame = next(self.all("frame|window")).queryComponent().getExtents(self.desk.atspi.WINDOW_COORDS)
        geometry = subprocess.run(
            ["xdotool", "getwindowgeometry", "--shell", window], capture_output=True, text=True, check=True).stdout
        size = dict(line.split("=") for line in geometry.split())
        # A widget is there before it has its place.
        place = lambda: widget.queryComponent().getExtents(self.desk.atspi.WINDOW_COORDS)
        at = wait(f"the place of “{name}”", lambda: place().width > 1 and place())
        # The window's edge, which can be dragged, is not the program's.
        x = at.x + at.width // 2 + (int(size["WIDTH"]) - frame.width) // 2
        y = at.y + at.height // 2 + (int(size["HEIGHT"]) - frame.height) // 2
        command = ["xdotool", "mousemove", "--sync", "--window", window, str(x), str(y), "click", "1"]
        subprocess.run(command, check=True)

    def text(self, name):
        """All of a text."""
        text = self.see(name).queryText()
        return text.getText(0, text.characterCount)

    def says(self, name, words, times=1):
        """Waits until a text has these words so many times."""
        wait(f"“{words}” in “{name}”", lambda: self.text(name).count(words) >= times)

    def is_checked(self, name):
        return self.see(name, "check box").getState().contains(self.desk.atspi.STATE_CHECKED)

    def keys(self, *keys, title=None):
        """Presses keys in the program's window, or in the one with that title, as xdotool writes them."""
        self.focus(title)
        self.type(*keys)

    def type(self, *keys):
        """Presses keys where the keyboard is."""
        subprocess.run(["xdotool", "key", "--clearmodifiers", *keys], check=True)

    def focus(self, title=None):
        """Gives the keyboard to the program's window, or to the one with that title."""
        # A menu that closes can be listed and not be there any more.
        def focus():
            window = self.window(title)
            return subprocess.run(["xdotool", "windowfocus", "--sync", window], stderr=subprocess.DEVNULL).returncode == 0
        wait(f"the focus of a window of {self.name}", focus)

    def focused(self):
        """The name of the widget that has the keyboard."""
        self.root.clear_cache()
        return next((node.name for node in self.all() if node.getState().contains(self.desk.atspi.STATE_FOCUSED)), None)

    def narrow(self, width=360):
        """Makes the window as narrow as a phone's. A window whose content does not fit stays wider."""
        frame = lambda: next(self.all("frame|window")).queryComponent().getExtents(self.desk.atspi.WINDOW_COORDS)
        geometry = subprocess.run(
            ["xdotool", "getwindowgeometry", "--shell", self.window()], capture_output=True, text=True, check=True).stdout
        size = {key: int(value) for key, value in (line.split("=") for line in geometry.split())}
        edge = size["WIDTH"] - frame().width  # the shadow, which is the window's
        subprocess.run(["xdotool", "windowsize", self.window(), str(width + edge), str(size["HEIGHT"])], check=True)
        wait(f"{self.name} in {width} pixels, not {frame().width}", lambda: frame().width == width, seconds=10)

    def show_help(self, key, name):
        """Looks at the window with the keys, one of which has that title, and at the one about the program."""
        shortcuts = "Keyboard Shortcuts"
        self.keys("ctrl+question")
        next(self.all("label", key, self.see(shortcuts, "frame")))
        self.keys("Escape", title=shortcuts)
        self.gone(shortcuts, "frame")
        self.keys("F10")
        self.see(f"About {name}", "menu item")
        self.keys("a")
        self.see("About", "frame")
        self.keys("Escape", title="About")
        self.gone("About", "frame")

    def window(self, title=None):
        def look():
            command = ["xdotool", "search", "--all", "--onlyvisible", "--pid", str(self.process.pid)]
            command += ["--name", f"^{title}$"] if title else []
            return subprocess.run(command, capture_output=True, text=True).stdout.split()
        return wait(f"a window of {self.name} on the display", look)[-1]

    def screenshot(self, path, title=None):
        """Takes a picture of the window, or of the one with that title, small enough to be kept."""
        time.sleep(0.7)  # pages fade into each other
        window = self.window(title)
        subprocess.run(["import", "-window", window, str(path)], check=True)
        subprocess.run(["convert", str(path), "-strip", "+dither", "-colors", "250", "PNG8:" + str(path)], check=True)
        if path.stat().st_size > 120_000:
            raise Failure(f"{path} is larger than 120 kB")

    def ended(self, seconds=10):
        """Waits for the program's end, and gives its status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} did not end within {seconds} s") from None


def step(text):
    print("    " + text, flush=True)


def main(drive, usage):
    """Drives a program: at a desk, with the arguments of the script."""
    if len(sys.argv) < 2:
        sys.exit(usage)
    session()
    images = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        with Desk(sys.argv[1]) as desk:
            drive(desk, images)
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
    print("    all as it should be")
