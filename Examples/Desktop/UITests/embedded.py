#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""embedded.py BINARIES [IMAGES]: drives the programs with the sign-in page in a window of their own.

BINARIES is where the programs were built; screenshots of the main states go to IMAGES.
"""
import json
import time
import urllib.request

from desk import expect, main, step

BUTTON = "push button|button"
CODE, OUT_OF_BAND = "246810", "urn:ietf:wg:oauth:2.0:oob"
LOG, ANSWERED = "Log", "Microsoft Graph answered with status 200"
CLOSED = "The sign-in window was closed before the sign-in was finished."


def start(desk, name, *arguments):
    return desk.start(name, *arguments, "--page", "embedded", "--cache", "memory")


def page(program, name, title="Sign in"):
    """The page that has been opened in a window, when it is there."""
    from webpage import WebPage  # needs the session's bus
    opened = WebPage(program, f"Sign in to {name}")
    opened.request = opened.see(title)
    return opened


def sign_in(opened, username="alice@example.test", password="correct horse"):
    opened.type("Username", username)
    opened.type("Password", password)
    opened.click("Sign in")


def b2c_settings(desk):
    """A settings file with the stand-in's B2C, and the redirect that programs with a web view of their own had."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(desk.stand_in + "/stand-in", timeout=5) as answer:
        tenant = json.load(answer)["b2cTenant"]
    path = desk.home / "todolist.json"
    path.write_text(json.dumps({
        "clientID": "7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10", "bhh": OUT_OF_BAND,
        "authURL": tenant + "b2c_1_susi", "tokenURL": tenant + "b2c_1_susi", "taskAPI": desk.stand_in,
    }))
    return str(path)


def drive(desk, images):
    step("QuickStart shows the page in a window, which is closed: the program says so")
    plain, desk.stand_in = desk.stand_in, desk.start_stand_in("0", CODE)
    shared = desk.home / "shared.json"
    shared.write_text('{"sharedDeviceMode": true}')
    quick = start(desk, "QuickStart", "--stand-in", desk.stand_in, "--settings", str(shared))
    quick.see("No account is signed in")
    quick.click("Call Microsoft Graph", BUTTON)
    opened = page(quick, "Quick Start")
    expect(not quick.has("Copy the page's address"), "no address to be opened elsewhere")
    opened.close()
    quick.see(CLOSED)
    opened.gone()
    quick.gone("Cancel", BUTTON)

    step("Alice signs in there, with a code on a second page, and Graph says who she is")
    quick.click("Retry", BUTTON)
    opened = page(quick, "Quick Start")
    sign_in(opened)
    opened.see("Enter the code")
    if images:
        quick.screenshot(images / "quickstart-embedded.png", opened.title)
    opened.type("Code", CODE)
    opened.click("Verify")
    quick.see("Alice Example")
    quick.says(LOG, ANSWERED)
    opened.gone()

    step("Graph demands what only she can give: the page is there again, and the call goes on with the claims")
    desk.fault(service="graph", fault="secondFactor")
    quick.click("Call Microsoft Graph", BUTTON)
    opened = page(quick, "Quick Start")
    expect("polids" in opened.request.get("claims", ""), "what the provider demands, in the request")
    opened.type("Password", "correct horse")  # who she is, the program has said
    opened.click("Sign in")
    opened.see("Enter the code")
    opened.type("Code", CODE)
    opened.click("Verify")
    quick.says(LOG, ANSWERED, times=2)
    opened.gone()

    step("she signs out; the computer is shared, but the window has kept no session that would have to be ended")
    quick.keys("ctrl+shift+o")
    quick.says(LOG, "alice@example.test was signed out on this computer.")
    expect("The computer is shared" not in quick.text(LOG), "nothing left to do")

    step("Escape closes the page's window; the program's window is closed in the middle of another sign-in")
    quick.click("Call Microsoft Graph", BUTTON)
    opened = page(quick, "Quick Start")
    opened.keys("key", "Escape")
    quick.see(CLOSED)
    opened.gone()
    quick.click("Retry", BUTTON)
    page(quick, "Quick Start")
    began = time.monotonic()
    quick.click_in("Quick Start", "Close", BUTTON)
    expect(quick.ended() == 0, "status 0")
    step(f"ended {time.monotonic() - began:.1f} s after that")

    step("TodoList: somebody signs up there, by way of urn:ietf:wg:oauth:2.0:oob, and has a list of their own")
    desk.stand_in = plain
    todo = start(desk, "TodoList", "--settings", b2c_settings(desk))
    todo.see("No Account Is Signed In")
    todo.click("Sign In", BUTTON)
    opened = page(todo, "To-Do List")
    expect(opened.request["redirect_uri"] == OUT_OF_BAND, "the redirect of the settings")
    opened.click("Sign up now")
    opened.see("Sign up")
    opened.type("Name", "Zoe Newcomer")
    opened.type("Username", "zoe@example.test")
    opened.type("New password", "a new horse")
    opened.click("Create")
    todo.see("Zoe Newcomer")
    todo.see("Nothing to Do")
    opened.gone()
    todo.see("New Task", "text|entry").queryEditableText().setTextContents("Find the kettle")
    todo.click("Add the Task", BUTTON)
    todo.see("Done: Find the kettle", "check box")
    todo.keys("ctrl+shift+o")
    todo.click("Sign In", BUTTON)
    sign_in(page(todo, "To-Do List"), "zoe@example.test", "a new horse")
    todo.see("Done: Find the kettle", "check box")
    todo.keys("ctrl+q")
    expect(todo.ended() == 0, "status 0")

    step("GraphSearch: Bob signs in there")
    people = start(desk, "GraphSearch", "--stand-in", desk.stand_in)
    people.click("Sign In", BUTTON)
    sign_in(page(people, "People"), "bob@example.test", "battery staple")
    people.see("Given name")
    people.keys("ctrl+q")
    expect(people.ended() == 0, "status 0")


main(drive, __doc__)
