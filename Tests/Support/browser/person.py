# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""What the two scripted people have in common: their settings, their log, and leaving at once like a real browser.

Both are called with the address to open as the last argument, return immediately, and go on in the background; so
they can be $BROWSER, or given as --browser. What they do is set by environment variables:

  PERSON_MODE        approve (default), disagree (where the program asks first), deny, badpass (types a wrong password), abandon (sees the page and leaves);
                     chromium-person also forgot (says so where the page offers it, else types PERSON_PASSWORD, as a
                     new one where that is asked for); form-person also cancel (says no where it is
                     asked to sign in) and tampers with the answer, see there
  PERSON_PROVIDER    env file of a provider started by the test support: name, password and authority come from it
  PERSON_USERNAME, PERSON_PASSWORD, PERSON_CA   the same one by one; PERSON_CA is a PEM file of an authority to trust
  PERSON_PROFILE     directory that keeps cookies, and so the session, from one run to the next
  PERSON_LOG         file to which one JSON object a line is added, the last one being {"event": "exit", "status": …}
  PERSON_DELAY       seconds to wait before doing anything
  PERSON_TIMEOUT     seconds until giving up (60)
  PERSON_END=page    the goal is a page without further questions (device flow), not the program's redirect URI
  PERSON_FOREGROUND=1  stay, log to standard error as well, and end with the exit status:
                     0 arrived, 3 stuck or refused, 4 failed, 5 page not reachable
"""
import http.client
import json
import os
import re
import sys
import time
import urllib.parse

ARRIVED, STUCK, FAILED, UNREACHABLE = 0, 3, 4, 5

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")

# What a browser says when a person opens an address in a window. Who does not say so may be no browser.
NAVIGATION = {
    "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1",
}

# How the controls on login and consent pages are told apart, by their names and labels.
USERNAME = r"^(user(_?name)?|login|email|sub|identifier|account)$"
YES = r"\b(allow|authori[sz]e|accept|approve|grant|confirm|continue|verify|yes|agree|submit)\b"
NO = r"\b(deny|cancel|reject|refuse|decline|disagree|no)\b"
FORGOT = r"\bforgot\b"
SIGN_OUT = r"\b(log ?out|sign ?out|end session)\b"


class Person:
    def __init__(self, url, environment=os.environ):
        provider = {}
        if environment.get("PERSON_PROVIDER"):
            with open(environment["PERSON_PROVIDER"], encoding="utf-8") as lines:
                provider = dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)

        def setting(name, default=None):
            return environment.get("PERSON_" + name) or provider.get(name) or default

        # Where the page is the goal, the browser itself goes there from the start.
        self.url = url = url if environment.get("PERSON_END") == "page" else behind_start(url)
        self.mode = setting("MODE", "approve")
        self.username = setting("USERNAME", "alice")
        self.password = "not-the-password" if self.mode == "badpass" else setting("PASSWORD", "correct-horse-7")
        self.ca = setting("CA")
        self.profile = setting("PROFILE")
        self.screenshots = setting("SHOTS")
        self.log_file = environment.get("PERSON_LOG")
        self.delay = float(setting("DELAY", "0"))
        self.seconds = float(setting("TIMEOUT", "60"))
        self.ends_at_page = setting("END") == "page"
        self.foreground = setting("FOREGROUND") == "1"
        self.deadline = time.monotonic() + self.delay + self.seconds
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.goal = query.get("redirect_uri") or query.get("post_logout_redirect_uri")
        self.is_pushed = "request_uri" in query
        self.signs_out = "id_token_hint" in query and "response_type" not in query

    def time_left(self):
        return max(0.0, self.deadline - time.monotonic())

    def has_arrived(self, url):
        """Whether the address belongs to the program that waits for the answer."""
        if self.is_pushed:  # the provider alone knows where the answer goes: somewhere else on this computer
            return origin(url)[1] in LOOPBACK_HOSTS and origin(url) != origin(self.url)
        return bool(self.goal) and origin(url) == origin(self.goal)

    def log(self, event, **details):
        line = json.dumps({"time": round(time.time(), 3), "event": event, **details}, ensure_ascii=False)
        if self.log_file:
            with open(self.log_file, "a", encoding="utf-8") as log:
                log.write(line + "\n")
        if self.foreground:
            print(line, file=sys.stderr, flush=True)


def behind_start(url, sees=lambda page: None):
    """Where an address of one use on this computer leads: it has a path and no query. Others are given back, and so is one of
    which the person wants nothing. Where the program asks first whether the person wants to sign in there, the person sees the
    page, and presses a button of it as PERSON_MODE says."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "http" or parts.hostname not in LOOPBACK_HOSTS or parts.query or len(parts.path) < 40:
        return url
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)

    def load(method, form=None, **more):
        connection.request(method, parts.path, form, {**NAVIGATION, **more})
        answer = connection.getresponse()
        return answer.headers, answer.read().decode()

    try:
        headers, page = load("GET")
        word = re.search('name="word" value="([^"]+)"', page)
        if not word:
            return headers["Location"] or url
        sees(page)
        said = "no" if os.environ.get("PERSON_MODE") == "disagree" else "yes"
        headers, _ = load(
            "POST", urllib.parse.urlencode({"word": word.group(1), "answer": said}),
            **{"Origin": f"http://{parts.netloc}", "Sec-Fetch-Site": "same-origin",
               "Content-Type": "application/x-www-form-urlencoded"})
        return (headers["Refresh"] or "").partition("url=")[2] or url
    finally:
        connection.close()


def origin(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def detach():
    if os.fork():
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


def run(documentation, act):
    """The main program of both: `act(person)` gives the exit status."""
    if len(sys.argv) < 2:
        sys.exit(documentation)
    person = Person(sys.argv[-1])
    if not person.foreground:
        detach()
    time.sleep(person.delay)
    try:
        status = act(person)
    except Exception as error:  # the log is the only place where anybody will look
        person.log("failed", error=repr(error))
        status = FAILED
    person.log("exit", status=status)
    sys.exit(status)
