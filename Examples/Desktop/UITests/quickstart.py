#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""quickstart.py BINARIES [IMAGES]: drives QuickStart through all that it is for, with a person in a real Chromium.

BINARIES is where the programs were built; screenshots of the main states go to IMAGES.
"""
import os
import subprocess
import time

from desk import DESKTOP_PERSON, SUPPORT, expect, main, step, wait

BUTTON = "push button|button"
QUICK_PERSON = {"BROWSER": str(SUPPORT / "browser" / "form-person")}
SCHEME = "io.github.identity.quickstart"
CLIENT = "7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10"  # every stand-in's
NOBODY, LOG = "No account is signed in", "Log"
LATE = "No program waits for this sign-in. Start it again."


def log(program):
    """The text of the log."""
    return program.text(LOG)


def says(program, text, times=1):
    program.says(LOG, text, times)


def call(program):
    program.click("Call Microsoft Graph", BUTTON)


def quit(program, key="ctrl+q"):
    program.keys(key)
    expect(program.ended() == 0, "status 0")


def lock_keyring():
    import secretstorage
    secretstorage.get_default_collection(secretstorage.dbus_init()).lock()


def unlock_in_dialog(desk):
    """Types the password into the keyring's own dialog."""
    def dialog():
        found = subprocess.run(
            ["xdotool", "search", "--onlyvisible", "--class", "gcr-prompter"], capture_output=True, text=True)
        return found.stdout.split()
    window = wait("the keyring's dialog", dialog)[-1]
    time.sleep(1)  # it takes the keyboard when it is there
    subprocess.run(["xdotool", "windowfocus", window, "type", "throw-away"], check=True)
    subprocess.run(["xdotool", "key", "Return"], check=True)


def focused():
    """The window that has the keyboard."""
    return subprocess.run(["xdotool", "getwindowfocus"], capture_output=True, text=True, check=True).stdout.strip()


def drive(desk, images):
    options = ["--stand-in", desk.stand_in]

    def shoot(program, name):
        if images:
            program.screenshot(images / f"quickstart-{name}.png")

    step("the smallest program signs her in and out")
    known = desk.fetch(desk.stand_in + "/stand-in")
    client = {"CLIENT_ID": CLIENT, "AUTHORITY": known["authority"]}
    small = desk.start("Minimal", **client, **QUICK_PERSON)
    small.see("No account is signed in.")
    desk.seat(mode="abandon")
    small.click("Sign In", BUTTON)
    small.click("Cancel", BUTTON)
    small.see("Cancelled.")
    desk.seat()
    small.click("Sign In", BUTTON)
    small.see("alice@example.test is signed in.")

    step("a second start shows the window that is there; she is signed in at the next start, and signs out")
    again = desk.spawn("again", [desk.binaries / "Minimal"], env={**os.environ, **client})
    expect(again.wait(20) == 0, "status 0")
    quit(small)
    small = desk.start("Minimal", **client, **QUICK_PERSON)
    small.see("alice@example.test is signed in.")
    small.click("Sign Out", BUTTON)
    small.see("alice@example.test was signed out.")
    quit(small, "ctrl+w")

    step("addresses that name no provider end the smallest program with a sentence")
    for wrong in {"AUTHORITY": "https://login.microsoftonline.com"}, {"ISSUER": "id.example.com"}, {"AUTHORITY": "x"}:
        refused = desk.spawn("refused", [desk.binaries / "Minimal"], env={**os.environ, "CLIENT_ID": "x", **wrong})
        expect(refused.wait(20) == 64, f"status 64 for {wrong}")
    expect("Fatal error" not in (desk.home / "refused.log").read_text(), "no crash")

    step("nobody is signed in at first")
    quick = desk.start("QuickStart", *options, **QUICK_PERSON)
    quick.see(NOBODY)
    says(quick, "No account is signed in.")
    expect(not quick.see("Sign Out", BUTTON).getState().contains(desk.atspi.STATE_SENSITIVE), "nobody can sign out")

    step("its keys, and what it is")
    quick.show_help("Call Microsoft Graph", "Quick Start")

    step("the sign-in is cancelled in the window, and the window is closed in the middle of another one")
    desk.seat(mode="abandon")
    call(quick)
    quick.see("Cancel", BUTTON)
    wait("the browser at its page", lambda: desk.visits())
    shoot(quick, "in-browser")

    step("what the computer has does not end the sign-in that waits")
    quick.click("Device Info", BUTTON)
    says(quick, "Device mode: private")
    expect(quick.has("Cancel", BUTTON) and "ancelled" not in log(quick), "the sign-in still waits")
    quick.click("Cancel", BUTTON)
    says(quick, "Cancelled.")
    quick.gone("Cancel", BUTTON)
    call(quick)
    quick.see("Cancel", BUTTON)
    start = time.monotonic()
    quit(quick, "ctrl+w")
    step(f"ended {time.monotonic() - start:.1f} s after that")

    step("the computer has an identity broker: its account is there, and no browser is needed")
    desk.install_broker("bob@example.test", "battery staple")
    openings = desk.openings()
    managed = desk.start("QuickStart", *options, "--broker", "auto", "--cache", "memory", **QUICK_PERSON)
    managed.see("bob@example.test")
    managed.click("Device Info", BUTTON)
    says(managed, "Broker: version 2.0.1")
    call(managed)
    says(managed, '"displayName" : "Bob Example"')
    says(managed, "The token came from the identity broker.")
    call(managed)
    says(managed, "The token came from the cache.")
    expect(desk.openings() == openings, "no browser was opened")
    quit(managed)

    step("Alice signs in through the browser, and Graph says who she is")
    desk.seat()
    quick = desk.start("QuickStart", *options)
    quick.see(NOBODY)
    call(quick)
    quick.see("Alice Example")
    says(quick, "Microsoft Graph answered with status 200")
    says(quick, '"displayName" : "Alice Example"')
    says(quick, "The token came from the identity provider.")
    expect("another program" not in log(quick), "the window knows that it was itself")
    shoot(quick, "signed-in")

    step("the second call needs no browser")
    openings = desk.openings()
    call(quick)
    says(quick, "Microsoft Graph answered with status 200", times=2)
    says(quick, "The token came from the cache.")
    expect(desk.openings() == openings, "no browser was opened")

    step("Graph is slow after a sign-in, and she gives up: the log says who has signed in, and nothing of other programs")
    slow = desk.start("QuickStart", *options, "--standalone", "--cache", "memory", **QUICK_PERSON)
    slow.see(NOBODY)
    desk.fault(service="graph", fault="slow", seconds=30)
    call(slow)
    says(slow, "alice@example.test has signed in.")
    slow.see("Alice Example")
    slow.see("The answer takes a while.")
    slow.keys("Escape")
    says(slow, "Cancelled.")
    expect("another program" not in log(slow), "the window knows that it was itself")
    quit(slow)
    openings = desk.openings()

    step("Graph demands more of the token, which is renewed without her")
    desk.fault(service="graph", fault="claimsChallenge")
    call(quick)
    says(quick, "Microsoft Graph answered with status 200", times=3)
    expect(desk.openings() == openings, "no browser was opened")

    step("what the computer has for signing in")
    quick.click("Device Info", BUTTON)
    says(quick, "Device mode: private")
    says(quick, "in encrypted files, with their key in the keyring")
    says(quick, "unlocked")
    says(quick, "chromium-person")

    step("the window is closed, and the session outlives the program")
    openings = desk.openings()
    quit(quick)
    quick = desk.start("QuickStart", *options, **QUICK_PERSON)
    quick.see("Alice Example")
    call(quick)
    says(quick, "Microsoft Graph answered with status 200")
    expect(desk.openings() == openings, "no browser was opened")

    step("another process signs her out, and this window shows it")
    other = desk.start("QuickStart", "--standalone", *options, **QUICK_PERSON)
    other.see("Alice Example")
    other.click("Sign Out", BUTTON)
    says(other, "was signed out on this computer")
    expect("another program" not in log(other), "the other one knows that it was itself")
    quit(other)
    quick.see(NOBODY)
    says(quick, "alice@example.test was signed out, in another program.")

    step("she refuses: an alert says so and has the keyboard; and she tries again")
    desk.seat(mode="cancel")
    call(quick)
    quick.see("Retry", BUTTON)
    expect(next(quick.all("alert"), None) is not None, "an alert for the screen reader")
    wait("Retry with the keyboard", lambda: quick.focused() == "Retry")
    desk.seat()
    quick.click("Retry", BUTTON)
    quick.see("Alice Example")
    quit(quick)

    step("what only an administrator can allow is explained; one refuses, and allows it")
    asking = desk.start("QuickStart", *options, "--scope", "Directory.Read.All", "--cache", "memory", **DESKTOP_PERSON)
    asking.see(NOBODY)
    call(asking)
    says(asking, "Only an administrator of your organization can allow this.")
    shoot(asking, "administrator")
    desk.seat(mode="cancel")
    asking.click("Ask an Administrator", BUTTON)
    says(asking, "The administrator has not allowed the program. AADSTS65004")
    says(asking, "/v2.0/adminconsent?client_id=")
    desk.seat()
    asking.click("Retry", BUTTON)
    says(asking, "An administrator of the organization contoso has allowed it.")
    asking.see("Ask an Administrator", BUTTON)  # the stand-in has not heard of it
    quit(asking)

    step("the browser comes back by the program's own scheme, and the desktop brings the redirect")
    desk.install("QuickStart")
    schemed = desk.start(
        "QuickStart", *options, "--redirect-uri", SCHEME + "://auth", "--cache", "memory", **DESKTOP_PERSON)
    schemed.see(NOBODY)
    call(schemed)
    schemed.see("Alice Example")

    step("a second start raises the window that is there, and says how to start another program")
    front = desk.start("TodoList", "--cache", "memory")
    front.see("Sign In", BUTTON)
    front.focus()
    expect(focused() != schemed.window(), "the other program is in front")
    second = desk.spawn("second", [desk.binaries / "QuickStart", "--cache", "file"])
    expect(second.wait(20) == 0, "status 0")
    expect("To start another one, add --standalone." in (desk.home / "second.log").read_text(), "the advice")
    wait("QuickStart in front", lambda: focused() == schemed.window())
    quit(front)

    step("a redirect reaches the program that runs; no sign-in waits for this one, and its window says so")
    late = desk.spawn("late", [desk.binaries / "QuickStart", SCHEME + "://auth?code=a&state=b"])
    expect(late.wait(20) == 0, "status 0")
    schemed.see(LATE)
    schemed.keys("Escape")
    schemed.gone(LATE)
    quit(schemed)

    step("without a program that runs, a window of its own says so")
    stale = desk.start("QuickStart", SCHEME + "://auth?code=a&state=b")
    stale.see(LATE)
    stale.keys("Escape")
    expect(stale.ended() == 1, "status 1")

    step("three people have signed in, and one of them out: the program asks which of the others it is")
    shared = [*options, "--cache", "file", "--cache-directory", str(desk.home / "several"), "--group", "office"]
    people = desk.start("GraphSearch", *shared, **QUICK_PERSON)
    people.click("Sign In", BUTTON)
    people.see("Given name")
    for username, password in (("bob@example.test", "battery staple"), ("maire@example.test", "correct horse")):
        desk.seat(username, password)
        openings = desk.openings()
        people.keys("ctrl+n")
        wait("the browser", lambda: desk.openings() > openings)
        people.gone("Cancel", BUTTON)
        people.keys("alt+a")
        people.see(username)
        people.keys("Escape")
    quit(people)
    desk.seat()
    several = desk.start("QuickStart", *shared, **QUICK_PERSON)
    several.see("Máire O'Neill")
    several.keys("ctrl+shift+o")
    several.see("Choose an Account")
    quit(several)
    several = desk.start("QuickStart", *shared, **QUICK_PERSON)
    several.see("Choose an Account")
    shoot(several, "choose")
    several.press("Bob Example", "list item")
    says(several, "bob@example.test was chosen.")
    call(several)
    says(several, "The token came from the cache.")
    says(several, '"displayName" : "Bob Example"')
    quit(several)
    several = desk.start("QuickStart", *shared, **QUICK_PERSON)
    says(several, "bob@example.test is still signed in.")
    several.keys("ctrl+shift+o")
    several.see("Alice Example")  # who is the only one left
    quit(several)

    step("a settings file says that the computer is shared: the browser is signed out, too")
    settings = desk.home / "settings.json"
    settings.write_text('{"sharedDeviceMode": true}')
    shared = desk.start("QuickStart", *options, "--settings", str(settings), "--cache", "memory", **QUICK_PERSON)
    shared.see(NOBODY)
    shared.click("Device Info", BUTTON)
    says(shared, "Device mode: shared")
    call(shared)
    shared.see("Alice Example")
    shared.click("Sign Out", BUTTON)
    says(shared, "The computer is shared: finish signing out in the browser.")
    quit(shared)

    step("the keyring is locked: the program says so, and does not ask as it starts")
    lock_keyring()
    locked = desk.start("QuickStart", *options, **QUICK_PERSON)
    locked.see("Sign-Ins Cannot Be Kept")
    wait("the way that helps, with the keyboard", lambda: locked.focused() == "Try Again")
    expect(any("keyring is locked" in word for word in locked.words()), "the reason")

    step("she goes on without keeping anything")
    locked.click("Continue Without Keeping", BUTTON)
    locked.see(NOBODY)
    locked.click("Device Info", BUTTON)
    says(locked, "Tokens: in memory, until the program ends")
    quit(locked)

    step("so does the smallest program")
    small = desk.start("Minimal", **client, **QUICK_PERSON)
    small.see("Try Again", BUTTON)
    expect(any("keyring is locked" in word for word in small.words()), "the reason")
    small.click("Continue Without Keeping", BUTTON)
    small.see("No account is signed in.")
    small.click("Sign In", BUTTON)
    small.see("alice@example.test is signed in.")
    quit(small)

    step("the cloud is a stand-in of the program's own by default, for which no keyring is needed")
    alone = desk.start("QuickStart", ADW_DEBUG_COLOR_SCHEME="prefer-dark", **QUICK_PERSON)
    alone.see(NOBODY)
    wait("the button to sign in with, which has the keyboard", lambda: alone.focused() == "Call Microsoft Graph")
    call(alone)
    alone.see("Alice Example")
    says(alone, "Microsoft Graph answered with status 200")
    shoot(alone, "dark")
    quit(alone)

    step("or the keyring is unlocked in its own dialog")
    locked = desk.start("QuickStart", *options, **QUICK_PERSON)
    locked.click("Try Again", BUTTON)
    unlock_in_dialog(desk)
    locked.see("Alice Example")
    quit(locked)

    step("it speaks the person's language")
    for language, words in (
            ("de", ["Schnellstart", "Niemand ist angemeldet", "Microsoft Graph aufrufen"]),
            ("ja", ["クイック スタート", "サインインしていません"]), ("ko", ["로그인한 계정 없음"]),
            ("zh_CN", ["没有登录的帐户"]), ("zh_TW", ["沒有登入的帳戶"])):
        translated = desk.start("QuickStart", *options, "--cache", "memory", LANGUAGE=language, **QUICK_PERSON)
        for word in words:
            translated.see(word)
        translated.narrow()
        quit(translated)


main(drive, __doc__)
