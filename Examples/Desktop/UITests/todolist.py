#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""todolist.py BINARIES [IMAGES]: drives TodoList through all that it is for, with a person in a real Chromium.

BINARIES is where the programs were built; screenshots of the main states go to IMAGES.
"""
import time

from desk import DESKTOP_PERSON, expect, main, step, wait

MILK, CALL, POST = "牛乳を買う", "Ring O'Neill back", "Письмо маме"
SIGNED_OUT, EMPTY, IN_BROWSER = "No Account Is Signed In", "Nothing to Do", "Sign In in the Browser"


def add(program, text):
    entry = program.see("New Task", "text|entry")
    entry.queryEditableText().setTextContents(text)
    program.click("Add the Task", "push button|button")
    program.see("Done: " + text, "check box")


def sign_in(program):
    program.click("Sign In", "push button|button")
    program.see("New Task")


def sign_out(program):
    program.keys("ctrl+shift+o")
    program.see(SIGNED_OUT)


def titles(desk, seen):
    """The titles of the pages since the browser's log had `seen` lines."""
    return [event["title"] for event in desk.visits()[seen:] if event["event"] == "page"]


def drive(desk, images):
    options = ["--stand-in", desk.stand_in]

    def shoot(program, name):
        if images:
            program.screenshot(images / f"todolist-{name}.png")

    step("nobody is signed in at first")
    todo = desk.start("TodoList", *options)
    todo.see(SIGNED_OUT)
    shoot(todo, "signed-out")
    todo.show_help("Edit the Profile", "To-Do List")

    step("Alice signs in and has nothing to do")
    sign_in(todo)
    todo.see("Alice Example")
    todo.see(EMPTY)

    step("she adds tasks, one of them not in Latin letters")
    add(todo, MILK)
    add(todo, CALL)

    step("she completes one, which the service keeps")
    todo.press("Done: " + MILK, "check box")
    wait("the tick", lambda: todo.is_checked("Done: " + MILK))
    todo.keys("F5")
    wait("the tasks that are done to be the last", lambda: [
        box.name for box in todo.all("check box")] == ["Done: " + CALL, "Done: " + MILK])
    expect(todo.is_checked("Done: " + MILK) and not todo.is_checked("Done: " + CALL), "one task is done")
    shoot(todo, "tasks")

    step("a slow answer turns the spinner, and a busy service is waited for")
    desk.fault(service="tasks", fault="slow", seconds=4)
    todo.keys("F5")
    todo.see("Busy")
    todo.gone("Busy")
    desk.fault(service="tasks", fault="throttled", seconds=4)
    todo.keys("F5")
    todo.see("Busy")
    todo.gone("Busy")
    expect(todo.has("Done: " + CALL) and not todo.has("Retry"), "the list came after the wait")
    add(todo, POST)

    step("she removes one, wants it back, and removes it again")
    todo.click("Remove: " + POST, "push button|button")
    todo.gone("Done: " + POST)
    expect(todo.has("Done: " + CALL), "the others are still there")
    todo.click("Undo", "push button|button")
    todo.see("Done: " + POST)
    todo.click("Remove: " + POST, "push button|button")
    todo.gone("Done: " + POST)

    step("the service asks to wait long, and she does not")
    desk.fault(service="tasks", fault="throttled", seconds=40)
    todo.keys("F5")
    todo.see("Cancel", "push button|button")
    todo.keys("Escape")
    todo.gone("Cancel", "push button|button")
    expect(todo.has("Done: " + CALL), "the list is still there")

    step("the service fails: the list stays, the bar says so, and goes away when all is well again")
    desk.fault(service="tasks", fault="broken")
    todo.keys("F5")
    error = "The to-do service said no: The service is broken. [HTTP 500]"
    todo.see(error)
    expect(todo.has("Done: " + CALL), "the list is still there")
    shoot(todo, "error")
    todo.click("Retry", "push button|button")
    todo.gone(error)

    step("she edits her profile, and is back at her tasks")
    seen = len(desk.visits())
    todo.keys("ctrl+e")
    wait("the page of the policy that edits profiles", lambda: "Edit your profile" in titles(desk, seen))
    todo.see("Done: " + CALL)

    step("the window is closed, and the session outlives the program: no browser the second time")
    openings = desk.openings()
    todo.keys("ctrl+q")
    expect(todo.ended() == 0, "status 0")
    todo = desk.start("TodoList", *options)
    todo.see("Done: " + CALL)
    todo.see("Alice Example")
    expect(desk.openings() == openings, "no browser was opened")

    step("another process signs her out, and this window shows it")
    other = desk.start("TodoList", "--standalone", *options)
    other.see("Done: " + CALL)
    sign_out(other)
    other.keys("ctrl+q")
    expect(other.ended() == 0, "status 0")
    todo.see(SIGNED_OUT)

    step("Bob signs in and sees none of her tasks")
    desk.seat("bob@example.test", "battery staple")
    sign_in(todo)
    todo.see("Bob Example")
    todo.see(EMPTY)
    expect(not todo.has("Done: " + CALL), "nothing of Alice's")
    shoot(todo, "empty")

    step("Alice has forgotten her password: the reset policy gives her a new one, and her tasks")
    sign_out(todo)
    desk.seat(password="something new", mode="forgot")
    seen = len(desk.visits())
    todo.click("Sign In", "push button|button")
    wait("“Forgot password?” clicked", lambda: any(
        event["event"] == "clicked" and "forgot" in event["label"].lower() for event in desk.visits()[seen:]))
    desk.seat(password="something new")
    todo.see("Done: " + CALL)
    expect("Reset the password" in titles(desk, seen), "the page of the reset policy was shown")
    sign_out(todo)

    step("the sign-in is cancelled in the window, and the window is closed in the middle of another one")
    desk.seat(mode="abandon")
    todo.click("Sign In", "push button|button")
    todo.see(IN_BROWSER)
    shoot(todo, "in-browser")
    todo.narrow()
    todo.keys("Escape")
    todo.see(SIGNED_OUT)
    todo.click("Sign In", "push button|button")
    todo.see(IN_BROWSER)
    start = time.monotonic()
    todo.keys("ctrl+w")
    expect(todo.ended() == 0, "status 0")
    step(f"ended {time.monotonic() - start:.1f} s after that")

    step("without options it has a stand-in of its own, and signs in there")
    desk.seat()
    alone = desk.start("TodoList")
    sign_in(alone)
    alone.see(EMPTY)
    add(alone, MILK)
    alone.keys("ctrl+q")
    expect(alone.ended() == 0, "status 0")

    step("the browser comes back by the program's own scheme, and the desktop brings the redirect")
    desk.install("TodoList")
    desk.seat(password="something new")
    schemed = desk.start(
        "TodoList", *options, "--redirect-uri", "io.github.identity.todolist://auth", "--cache", "memory",
        **DESKTOP_PERSON)
    sign_in(schemed)
    schemed.see("Done: " + CALL)
    schemed.keys("ctrl+q")
    expect(schemed.ended() == 0, "status 0")

    step("settings with a secret are refused with the reason")
    settings = desk.home / "settings.json"
    settings.write_text('{"clientID": "x", "clientSecret": "hunter2"}')
    refused = desk.spawn("refused", [desk.binaries / "TodoList", "--settings", settings])
    expect(refused.wait(10) == 64, "the status of a usage error")
    said = (desk.home / "refused.log").read_text()
    expect("clientSecret must be empty" in said and "hunter2" not in said, "the reason, without the secret")

    if images:
        step("dark")
        desk.seat(password="something new")
        todo = desk.start("TodoList", *options, ADW_DEBUG_COLOR_SCHEME="prefer-dark")
        sign_in(todo)
        todo.see("Done: " + CALL)
        shoot(todo, "dark")
        todo.keys("ctrl+q")
        expect(todo.ended() == 0, "status 0")


main(drive, __doc__)
