#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""graphsearch.py BINARIES [IMAGES]: drives GraphSearch through all that it is for.

BINARIES is where the programs were built; screenshots of the main states go to IMAGES.
"""
import json
import time
import urllib.request

from desk import DESKTOP_PERSON, SUPPORT, expect, main, step, wait

BUTTON = "push button|button"
QUICK_PERSON = {"BROWSER": str(SUPPORT / "browser" / "form-person")}
ALICE, BOB = "alice@example.test", "bob@example.test"

CLIENT = "7d1f0f5c-5a3e-4a0e-9c41-2f0d3f6f9a10"  # every stand-in's


def provider(stand_in):
    """Who signs people in at a stand-in."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(stand_in + "/stand-in", timeout=5) as answer:
        return json.load(answer)["authority"]


def rows(program):
    """The names of the people in the list, as opposed to what is said of one of them."""
    return [row.name for people in program.all("list", "People") for row in program.all("list item", node=people)]


def search(program, text):
    program.see("Given name").queryEditableText().setTextContents(text)


def found(program, count, what):
    """Waits until the list has a number of people, all of whom `what` is true for."""
    wait(f"{count} people", lambda: len(rows(program)) == count and all(
        what(name) for name in rows(program)))


def searched(program):
    """What the search field says."""
    field = program.see("Given name").queryText()
    return field.getText(0, field.characterCount)


def found_only(program, prefix):
    """Whether there are people, all of whose names begin so."""
    names = rows(program)
    return names and all(name.startswith(prefix) for name in names)


def is_busy(program):
    """Whether a part of the window says that it is about to change."""
    program.root.clear_cache()
    return any(node.getState().contains(program.desk.atspi.STATE_BUSY) for node in program.all())


def is_chosen(program, username):
    """Whether the menu that is open marks an account as the one that searches."""
    program.root.clear_cache()
    return any(node.getState().contains(program.desk.atspi.STATE_CHECKED) for node in program.all(name=username))


def open_first(program):
    """Chooses the first of the list with keys."""
    program.keys("ctrl+f", "Tab", "Down", "Home", "Return")


def quit(program, key="ctrl+q"):
    program.keys(key)
    expect(program.ended() == 0, "status 0")


def drive(desk, images):
    options = ["--stand-in", desk.stand_in]

    def shoot(program, name):
        if images:
            program.screenshot(images / f"graphsearch-{name}.png")

    step("nobody is signed in at first; the window is closed in the middle of a sign-in")
    people = desk.start("GraphSearch", *options, **QUICK_PERSON)
    people.see("Find People")
    shoot(people, "signed-out")
    wait("the button to sign in with, which has the keyboard", lambda: people.focused() == "Sign In")
    people.keys("F10")
    people.see("About People", "menu item")
    people.keys("Escape")
    desk.seat(mode="abandon")
    people.click("Sign In", BUTTON)
    people.see("Cancel", BUTTON)
    people.keys("Escape")
    people.gone("Cancel", BUTTON)
    people.click("Sign In", BUTTON)
    people.see("Cancel", BUTTON)
    start = time.monotonic()
    quit(people, "ctrl+w")
    step(f"ended {time.monotonic() - start:.1f} s after that")

    step("Alice signs in, and sees the first page of everybody")
    desk.seat()
    people = desk.start("GraphSearch", *options, **QUICK_PERSON)
    people.click("Sign In", BUTTON)
    wait("a page of people", lambda: len(rows(people)) >= 50)

    step("further pages come as she scrolls")
    before = len(rows(people))
    people.keys("ctrl+f", "Tab", "End")
    wait("more people", lambda: len(rows(people)) > before)

    step("the list is one stop of the Tab key")
    people.keys("ctrl+f", "Tab")
    wait("a person in the list with the keyboard", lambda: people.focused() in rows(people))
    people.keys("Tab")
    wait("the keyboard elsewhere", lambda: people.focused() not in rows(people))
    people.keys("shift+Tab")
    wait("the list again", lambda: people.focused() in rows(people))
    people.keys("shift+Tab")
    wait("the keyboard elsewhere", lambda: people.focused() not in rows(people))

    step("a name with an apostrophe, and one that is not in Latin letters")
    search(people, "D'A")
    wait("only D'Arcy", lambda: rows(people) and all(name.startswith("D'Arcy ") for name in rows(people)))
    shoot(people, "apostrophe")
    search(people, "さ")
    found(people, 1, lambda name: name.startswith("さくら"))
    search(people, "no such name")
    people.see("No People Found")
    shoot(people, "nobody-found")

    step("the details of one of them")
    search(people, "Máire")
    wait("Máire", lambda: rows(people) and all(name.startswith("Máire") for name in rows(people)))
    open_first(people)
    people.see("User principal name")
    people.see("Business phone")
    people.see("Copy maire@example.test", BUTTON)
    shoot(people, "details")

    step("Graph fails: the bar says so, and Retry helps")
    desk.fault(service="graph", fault="broken")
    search(people, "Al")
    people.see("Graph answered with status 500.")
    expect("Máire O'Neill" in rows(people), "the people found before")
    shoot(people, "error")
    people.click("Retry", BUTTON)
    wait("those with Al", lambda: rows(people) and all(name.startswith("Al") for name in rows(people)))

    step("Graph is slow, and the window says so; it is busy, and is asked again when it says")
    search(people, "さ")  # a short list is looked through in no time
    found(people, 1, lambda name: name.startswith("さくら"))
    desk.fault(service="graph", fault="slow", seconds=8)
    search(people, "B")
    wait("a list that is busy", lambda: is_busy(people))
    wait("those with B", lambda: rows(people) and all(name.startswith("B") for name in rows(people)))
    wait("a list that is not", lambda: not is_busy(people))
    desk.fault(service="graph", fault="throttled", seconds=1)
    search(people, "C")
    wait("those with C", lambda: rows(people) and all(name.startswith("C") for name in rows(people)))

    step("Graph asks to wait long, and she does not; the people found before stay")
    desk.fault(service="graph", fault="throttled", seconds=40)
    search(people, "E")
    people.see("Cancel", BUTTON)
    people.keys("Escape")
    people.gone("Cancel", BUTTON)
    expect(found_only(people, "C"), "the people found before")

    step("a narrow window has the close button and the menu, at the list and at a person")
    people.narrow()
    for page in "list", "person":
        people.see("Close", BUTTON)
        people.keys("F10")
        people.see("About People", "menu item")
        people.keys("Escape")
        if page == "list":
            open_first(people)
            people.see("User principal name")
    quit(people)
    people = desk.start("GraphSearch", *options, **QUICK_PERSON)
    wait("Alice's search", lambda: searched(people) == "C" and found_only(people, "C"))

    step("Graph demands what only she can give: she signs in once more, and the search goes on with the claims")
    openings, seen = desk.openings(), len(desk.visits())
    desk.fault(service="graph", fault="secondFactor")
    search(people, "D")
    people.see("You need to sign in again.")
    expect(not any(str(word).startswith("interaction_required") for word in people.words()), "no code")
    people.click("Sign In", BUTTON)
    wait("those with D", lambda: rows(people) and all(name.startswith("D") for name in rows(people)))
    expect(desk.openings() == openings + 1, "the browser was opened")
    expect(any("polids" in visit.get("address", "") for visit in desk.visits()[seen:]), "the claims in the request")

    step("Bob signs in as well; both can be chosen")
    desk.seat(BOB, "battery staple")
    openings = desk.openings()
    people.keys("ctrl+n")
    wait("the browser", lambda: desk.openings() > openings)
    people.gone("Cancel", BUTTON)
    wait("everybody again, for him", lambda: len(rows(people)) >= 1 and people.has("Given name"))
    people.keys("alt+a")
    people.see(BOB)
    people.see(ALICE)
    expect(is_chosen(people, BOB), "Bob searches now")
    people.keys("Home", "Return")

    step("each has the search that they made last")
    wait("Alice's search", lambda: searched(people) == "D" and found_only(people, "D"))
    people.keys("alt+a")
    wait("Alice, who was chosen", lambda: is_chosen(people, ALICE) and not is_chosen(people, BOB))
    people.keys("Escape")

    step("the session outlives the program, and so does her search")
    openings = desk.openings()
    quit(people)
    people = desk.start("GraphSearch", *options, **QUICK_PERSON)
    wait("Alice's search", lambda: searched(people) == "D" and found_only(people, "D"))
    expect(desk.openings() == openings, "no browser was opened")

    step("another process signs both out, and this window shows it")
    other = desk.start("GraphSearch", "--standalone", *options, **QUICK_PERSON)
    wait("a page of people", lambda: rows(other))
    other.keys("ctrl+shift+o")
    wait("one account less", lambda: len(rows(other)) >= 50)
    time.sleep(1)
    other.keys("ctrl+shift+o")
    other.see("Find People")
    quit(other)
    people.see("Find People")
    quit(people)

    step("a settings file with the sample's keys, and one that is refused")
    bad = desk.home / "bad.json"
    bad.write_text('{"redirectUri": "https://example.com/back"}')
    refused = desk.spawn("refused", [desk.binaries / "GraphSearch", "--settings", str(bad)])
    expect(refused.wait(20) == 64, "status 64 for settings that cannot be used")
    expect("redirectUri must be a loopback address" in (desk.home / "refused.log").read_text(), "the reason")

    step("accounts of two providers search side by side, one settings file for each")
    desk.seat()
    files = []
    for name, root, redirect in (
            ("contoso", desk.stand_in, "http://localhost"),
            ("fabrikam", desk.start_stand_in(), "urn:ietf:wg:oauth:2.0:oob")):  # as the tutorials have it
        settings = {
            "clientId": CLIENT, "authority": provider(root), "redirectUri": redirect,
            "graphApiUrlString": root}
        (desk.home / f"{name}.json").write_text(json.dumps(settings))
        files += ["--settings", str(desk.home / f"{name}.json")]
    people = desk.start("GraphSearch", *files, **QUICK_PERSON)
    people.click("Sign In (fabrikam)", BUTTON)
    wait("a page of people", lambda: len(rows(people)) >= 50)
    openings = desk.openings()
    people.keys("ctrl+n")
    wait("the browser", lambda: desk.openings() > openings)
    people.gone("Cancel", BUTTON)
    people.keys("alt+a")
    people.see(f"{ALICE} (contoso)")
    people.see(f"{ALICE} (fabrikam)")
    expect(is_chosen(people, f"{ALICE} (contoso)"), "the account of the other provider searches now")
    people.keys("Escape")
    quit(people)

    step("the browser comes back by the program's own scheme, and the desktop brings the redirect")
    desk.install("GraphSearch")
    people = desk.start(
        "GraphSearch", *options, "--redirect-uri", "io.github.identity.graphsearch://auth", "--cache", "memory",
        **DESKTOP_PERSON)
    people.click("Sign In", BUTTON)
    wait("a page of people", lambda: len(rows(people)) >= 50)
    quit(people)

    if images:
        step("dark")
        desk.seat()
        people = desk.start("GraphSearch", "--cache", "memory", ADW_DEBUG_COLOR_SCHEME="prefer-dark", **QUICK_PERSON)
        people.click("Sign In", BUTTON)
        wait("a page of people", lambda: len(rows(people)) >= 50)
        open_first(people)
        people.see("User principal name")
        shoot(people, "dark")
        quit(people)


main(drive, __doc__)
