#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""quickstart.py BINARIES [IMAGES]: drives QuickStart through all that it is for, with a person in a real Chromium.

BINARIES is where the programs were built; screenshots of the main states go to IMAGES.
"""
import subprocess
import time

from desk import SUPPORT, expect, main, step, wait

BUTTON = "push button|button"
QUICK_PERSON = {"BROWSER": str(SUPPORT / "browser" / "form-person")}
NOBODY, LOG = "Nobody is signed in", "What happened"


def log(program):
    """The text of the log."""
    text = program.see(LOG).queryText()
    return text.getText(0, text.characterCount)


def says(program, text, times=1):
    wait(f"“{text}” in the log", lambda: log(program).count(text) >= times)


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


def drive(desk, images):
    options = ["--stand-in", desk.stand_in]

    def shoot(program, name):
        if images:
            program.screenshot(images / f"quickstart-{name}.png")

    step("nobody is signed in at first")
    quick = desk.start("QuickStart", *options, **QUICK_PERSON)
    quick.see(NOBODY)
    says(quick, "Nobody is signed in.")
    expect(not quick.see("Sign Out", BUTTON).getState().contains(desk.atspi.STATE_SENSITIVE), "nobody can sign out")

    step("its keys, and what it is")
    quick.show_help("Call Microsoft Graph")

    step("the sign-in is cancelled in the window, and the window is closed in the middle of another one")
    desk.seat(mode="abandon")
    call(quick)
    quick.see("Cancel", BUTTON)
    wait("the browser at its page", lambda: desk.visits())
    shoot(quick, "in-browser")
    quick.click("Cancel", BUTTON)
    says(quick, "Cancelled.")
    quick.gone("Cancel", BUTTON)
    call(quick)
    quick.see("Cancel", BUTTON)
    start = time.monotonic()
    quit(quick, "ctrl+w")
    step(f"ended {time.monotonic() - start:.1f} s after that")

    step("Alice signs in through the browser, and Graph says who she is")
    desk.seat()
    quick = desk.start("QuickStart", *options)
    quick.see(NOBODY)
    call(quick)
    quick.see("Alice Example")
    says(quick, "Microsoft Graph answered with status 200")
    says(quick, '"displayName" : "Alice Example"')
    expect("another program" not in log(quick), "the window knows that it was itself")
    shoot(quick, "signed-in")

    step("the second call needs no browser")
    openings = desk.openings()
    call(quick)
    says(quick, "Microsoft Graph answered with status 200", times=2)
    expect(desk.openings() == openings, "no browser was opened")

    step("Graph demands more of the token, which is renewed without her")
    desk.fault(service="graph", fault="claimsChallenge")
    call(quick)
    says(quick, "Microsoft Graph answered with status 200", times=3)
    expect(desk.openings() == openings, "no browser was opened")

    step("what the computer has for signing in")
    quick.click("Device Info", BUTTON)
    says(quick, "Device mode: private")
    says(quick, "The store 'encrypted-file'")
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
    other = desk.start("QuickStart", *options, **QUICK_PERSON)
    other.see("Alice Example")
    other.click("Sign Out", BUTTON)
    says(other, "was signed out on this computer")
    expect("another program" not in log(other), "the other one knows that it was itself")
    quit(other)
    quick.see(NOBODY)
    says(quick, "alice@example.test was signed out, in another program.")

    step("she refuses, and tries again")
    desk.seat(mode="cancel")
    call(quick)
    quick.see("Retry", BUTTON)
    desk.seat()
    quick.click("Retry", BUTTON)
    quick.see("Alice Example")
    quit(quick)

    step("what only an administrator can allow is explained")
    asking = desk.start("QuickStart", *options, "--scope", "Directory.Read.All", "--cache", "memory", **QUICK_PERSON)
    asking.see(NOBODY)
    call(asking)
    says(asking, "Only an administrator of your organisation can allow this.")
    shoot(asking, "administrator")
    quit(asking)

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
    locked.see("The program cannot start")
    expect(any("keyring is locked" in word for word in locked.words()), "the reason")
    locked.click("Try Again", BUTTON)
    unlock_in_dialog(desk)
    locked.see("Alice Example")
    quit(locked)

    step("the cloud is a stand-in of the program's own by default")
    alone = desk.start("QuickStart", "--cache", "file", ADW_DEBUG_COLOR_SCHEME="prefer-dark", **QUICK_PERSON)
    alone.see(NOBODY)
    call(alone)
    alone.see("Alice Example")
    says(alone, "Microsoft Graph answered with status 200")
    shoot(alone, "dark")
    quit(alone)


main(drive, __doc__)
