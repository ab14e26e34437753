#!/usr/bin/python3 -B
# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""layout.py BINARIES [IMAGES]: looks at the programs as people do who need larger text, another language, another reading
direction, or the keyboard.

BINARIES is where the programs were built. With IMAGES, pictures of the states are kept beside this file, in `layout`.
"""
import subprocess

from desk import HERE, SUPPORT, Failure, expect, main, step, wait

QUICK_PERSON = {"BROWSER": str(SUPPORT / "browser" / "form-person")}
BUTTON, WIDTH = "push button|button", 360
CONTROLS = ("push button", "button", "toggle button", "text", "entry")
PROGRAMS = ("QuickStart", "GraphSearch", "TodoList")


def scale_text(percent):
    """Sets the size of text for the programs that start from now on."""
    value = f"Xft.dpi:\t{96 * percent // 100}\n"
    subprocess.run(["xprop", "-root", "-f", "RESOURCE_MANAGER", "8s", "-set", "RESOURCE_MANAGER", value], check=True)


def mirrored(desk):
    """What a program needs to be laid out from right to left."""
    subprocess.run(["localedef", "-i", "ar_EG", "-f", "UTF-8", str(desk.home / "ar_EG.UTF-8")], check=True)
    return {"LOCPATH": str(desk.home), "LC_ALL": "ar_EG.UTF-8"}


def cut_off(program):
    """The texts and controls that stick out of the window, or are not as wide as their shortest word."""
    frame = next(program.all("frame|window"))
    coordinates = program.desk.atspi.WINDOW_COORDS
    width = frame.queryComponent().getExtents(coordinates).width
    for node in program.all("label|push button|button|check box|text|entry"):
        place = node.queryComponent().getExtents(coordinates)
        if place.width > 0 and (place.x < 0 or place.x + place.width > width):
            yield f"{node.getRoleName()} “{node.name}” at {place.x}+{place.width} of {width}"


def walk(program, key="Tab"):
    """Presses a key until the keyboard is where it was before, and gives the names of where it has been."""
    seen = [program.focused()]
    while len(seen) < 60:
        program.type(key)
        wait(f"the keyboard elsewhere than at “{seen[-1]}”, after {seen}", lambda: program.focused() not in (None, seen[-1]))
        name = program.focused()
        if name in seen:
            expect(name == seen[0] or seen.index(name) <= 1, f"a round, not a trap at “{name}”: {seen}")
            return set(seen)
        seen.append(name)
    return set(seen)


def controls(program):
    """The names of everything that can have the keyboard now, but for what is inside a list: its rows have the arrows."""
    atspi = program.desk.atspi

    def look(node):
        for child in list(node):
            if child is None or not child.getState().contains(atspi.STATE_VISIBLE):
                continue
            state = child.getState()
            if child.getRoleName() == "list":
                continue
            if child.getRoleName() in CONTROLS and child.name \
                    and state.contains(atspi.STATE_SENSITIVE) and state.contains(atspi.STATE_FOCUSABLE):
                yield child.name
            yield from look(child)
    frame = next(program.all("frame|window"))
    # The window's own button has a key, and takes no part in the round.
    return {name for name in look(frame) if name not in ("Minimize", "Maximize", "Close", "Restore")}


def reaches_all(program, page):
    step(f"{program.name}, {page}: Tab and Shift+Tab reach every control, and leave every one")
    program.root.clear_cache()
    wanted = controls(program)
    for key in "Tab", "shift+Tab":
        missed = wanted - walk(program, key)
        expect(not missed, f"{key} to reach {missed} of {wanted}")


def states(desk, name, **variables):
    """Starts a program, and gives it in each of its states, with the state's name."""
    desk.seat(mode="abandon")
    program = desk.start(name, "--stand-in", desk.stand_in, "--cache", "memory", **QUICK_PERSON, **variables)
    ready = lambda: program.focused() is not None
    wait("the first page", ready)
    program.focus()
    program.narrow(WIDTH)
    yield program, "start"
    first = program.focused()
    program.type("Return")
    wait("the row of the sign-in", lambda: program.focused() not in (None, first))
    yield program, "waiting"
    program.type("Escape")
    wait("the first page", lambda: program.focused() == first)
    desk.seat(mode="cancel")
    program.type("Return")
    wait("the refusal", lambda: next(program.all("alert"), None) and program.focused() not in (None, first))
    yield program, "refused"
    program.type("Escape")
    wait("the first page", lambda: program.focused() == first)
    desk.seat()
    program.type("Return")
    wait("somebody signed in", lambda: program.has("Alice Example") or program.has("alice@example.test"))
    if name == "TodoList":
        wait("the field", lambda: next(program.all("text|entry"), None))
        for word in "milk", "tea":
            program.type(*word, "Return")
            wait(word, lambda: any(word in box.name for box in program.all("check box")))
    if name == "GraphSearch":
        fields = lambda: [field.name for field in program.all("text|entry")]
        wait("people, and the field with the keyboard", lambda: program.has("Bob Example") and program.focused() in fields())
    yield program, "signed-in"
    if name == "TodoList":
        next(button for button in program.all(BUTTON) if "milk" in button.name).queryAction().doAction(0)
        wait("the row to undo with", lambda: not any("milk" in box.name for box in program.all("check box")))
        yield program, "removed"
    if name == "GraphSearch":
        rows = lambda: [row.name for row in program.all("list item")]
        program.type("Tab")
        wait("a row with the keyboard", lambda: program.focused() in rows())
        program.type("Return")
        wait("a person, and the keyboard there", lambda: program.focused() not in (None, *rows()))
        yield program, "person"
    program.type("ctrl+q")
    expect(program.ended() == 0, "status 0")


def drive(desk, images):
    if images:
        (HERE / "layout").mkdir(exist_ok=True)

    def look(variant, **variables):
        for name in PROGRAMS:
            pictures = []
            for program, state in states(desk, name, **variables):
                missing = []
                def all_fits():
                    missing[:] = cut_off(program)
                    return not missing
                try:
                    wait("", all_fits, seconds=20)  # pages slide in
                except Failure:
                    raise Failure(f"{name}, {state}, {variant}: cut off: {missing}") from None
                if images:
                    pictures.append(desk.home / f"{len(pictures)}.png")
                    program.screenshot(pictures[-1])
            if images:
                sheet = HERE / "layout" / f"{name.lower()}-{variant}.png"
                command = ["convert", *pictures, "+append", "-strip", "+dither", "-colors", "64", f"PNG8:{sheet}"]
                subprocess.run(command, check=True)

    for name in PROGRAMS:
        for program, state in states(desk, name):
            reaches_all(program, state)

    step("text of 200 %, in English, German and the mirrored layout")
    scale_text(200)
    look("200")
    look("200-german", LANGUAGE="de")
    look("200-mirrored", **mirrored(desk))
    scale_text(100)

    step("a keyring without a place for sign-ins, in German: no word of English")
    desk.without_collection()
    german = desk.start("QuickStart", "--stand-in", desk.stand_in, LANGUAGE="de", **QUICK_PERSON)
    german.see("Anmeldungen können nicht gespeichert werden")
    english = [word for word in german.words() if {"the", "The", "keyring", "and", "Create"} & set(word.split())]
    expect(not english, f"German only, not {english}")
    wait("the way that helps, with the keyboard", lambda: german.focused() == "Ohne Speichern fortfahren")
    german.type("ctrl+q")
    expect(german.ended() == 0, "status 0")


main(drive, __doc__)
