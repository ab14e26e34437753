#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""screenreader.py BINARIES [IMAGES]: uses all programs with keys alone, and listens to what Orca says.

BINARIES is where the programs were built. With IMAGES, what Orca has said is kept in screenreader.txt, beside this file.
"""
from desk import HERE, SUPPORT, Orca, expect, main, step, wait

QUICK_PERSON = {"BROWSER": str(SUPPORT / "browser" / "form-person")}
ALICE = "alice@example.test"
CLASSES = ("GtkStackPage", "GtkListBox", "GtkInfoBar", "GtkImage", "GtkPopoverMenu", "GtkBox", "AdwEntryRow")


def drive(desk, images):
    options = ["--stand-in", desk.stand_in, "--cache", "memory"]
    orca = Orca(desk)

    def start(name, *arguments, **variables):
        orca.now()
        program = desk.start(name, *arguments, **{**QUICK_PERSON, **variables})
        program.focus()
        return program

    def end(program):
        program.type("ctrl+q")
        expect(program.ended() == 0, "status 0")

    step("Minimal: nobody is signed in, the wait, a refusal, Alice, and her sign-out")
    known = desk.fetch(desk.stand_in + "/stand-in")
    small = start("Minimal", CLIENT_ID="7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10", AUTHORITY=known["authority"])
    orca.hears("Sign In push button", "No account is signed in.")
    desk.seat(mode="abandon")
    orca.after(small, "Return", "finish signing in there")
    orca.after(small, "Return", "Cancelled.")
    desk.seat(mode="cancel")
    orca.after(small, "Return", "finish signing in there", "cancelled")
    desk.seat()
    orca.after(small, "Return", f"{ALICE} is signed in.")
    orca.after(small, "Return", f"{ALICE} was signed out.")
    end(small)

    step("QuickStart: the same, and what Graph answers")
    quick = start("QuickStart", *options)
    orca.hears("Call Microsoft Graph push button", "No account is signed in.")
    desk.seat(mode="abandon")
    orca.after(quick, "Return", "Cancel push button", "Finish signing in in the browser.")
    orca.after(quick, "Return", "Call Microsoft Graph push button", "Cancelled.")
    desk.seat(mode="cancel")
    orca.after(quick, "Return", "The sign-in was cancelled.", "Retry push button")
    desk.seat()
    orca.after(quick, "Return", f"{ALICE} has signed in.", "Microsoft Graph answered with status 200")
    desk.fault(service="graph", fault="slow", seconds=6)
    orca.after(quick, "F5", "The answer takes a while.", "Microsoft Graph answered with status 200")
    orca.after(quick, "ctrl+shift+o", f"{ALICE} was signed out on this computer.")
    end(quick)

    step("GraphSearch: the number of people found, too")
    people = start("GraphSearch", *options)
    orca.hears("Sign In push button")
    desk.seat(mode="abandon")
    orca.after(people, "Return", "Cancel push button", "Finish signing in in the browser.")
    orca.after(people, "Return", "Sign In push button")
    desk.seat(mode="cancel")
    orca.after(people, "Return", "The sign-in was cancelled.", "Retry push button")
    desk.seat()
    orca.after(people, "Return", f"{ALICE} has signed in.")
    wait("the field to search in, with the keyboard", lambda: people.focused() == "Given name")
    orca.after(people, "M a", "People found: ")
    orca.after(people, "x y", "No People Found")
    desk.fault(service="graph", fault="broken")
    orca.after(people, "BackSpace", "Graph answered with status 500.")
    desk.fault(service="graph", fault="slow", seconds=6)
    orca.after(people, "BackSpace", "The answer takes a while.", "People found")
    orca.after(people, "Tab", "People.", "List with")
    orca.after(people, "Down")
    orca.after(people, "Return", "User principal name: ")
    orca.after(people, "ctrl+shift+o", f"{ALICE} was signed out on this computer.")
    end(people)

    step("TodoList: tasks that are added, removed and back, and an error while she types")
    todo = start("TodoList", *options)
    orca.hears("Sign In push button")
    desk.seat(mode="abandon")
    orca.after(todo, "Return", "Cancel push button", "Finish signing in in the browser.")
    orca.after(todo, "Return", "Sign In push button")
    desk.seat(mode="cancel")
    orca.after(todo, "Return", "The sign-in was cancelled.")
    desk.seat()
    orca.after(todo, "Escape")
    wait("the button to sign in with, which has the keyboard", lambda: todo.focused() == "Sign In")
    orca.after(todo, "Return", "Alice Example has signed in.")
    wait("the field for a task, with the keyboard", lambda: todo.focused() == "New Task")
    orca.after(todo, "m i l k Return", "“milk” was added.")
    orca.after(todo, "t e a Return", "“tea” was added.")
    desk.fault(service="tasks", fault="broken")
    orca.after(todo, "F5", "The to-do service said no: The service is broken.")
    orca.after(todo, "F5 Tab Tab", "Tasks.", "milk")
    orca.after(todo, "Tab", "Done: milk check box not checked")
    orca.after(todo, "space", "checked")
    orca.after(todo, "Tab", "Remove: milk push button")
    orca.after(todo, "Return", "“milk” was removed.")
    orca.after(todo, "ctrl+z", "“milk” is back.")
    orca.after(todo, "ctrl+shift+o", "Alice Example was signed out on this computer.")
    end(todo)

    step("no widget is called by its class")
    said = orca.said
    expect(not [line for line in said for name in CLASSES if name in line], "words for people")
    if images:
        (HERE / "screenreader.txt").write_text("\n".join(said) + "\n")


main(drive, __doc__)
