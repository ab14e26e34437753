# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The sign-in page in a window of a program, as a screen reader sees it, and the person who uses it.

GTK 4.8 does not join the page's tree to the window's, so that it is asked for on the accessibility bus itself: WebKit's
process is there under a name of its own. Fields take keys alone, as they are pressed on the display.
"""
import contextlib
import subprocess
import xml.etree.ElementTree

from gi.repository import Gio, GLib

from desk import wait

PAGES = "/org/a11y/webkit/accessible"
ACCESSIBLE, TEXT = "org.a11y.atspi.Accessible", "org.a11y.atspi.Text"
FOCUSED, BUTTON = 12, 43  # a state and a role, by the numbers of AT-SPI


class WebPage:
    """The page in the window with this title, which has been opened."""

    def __init__(self, program, title):
        self.program, self.title = program, title
        program.see(title, "frame|window")
        session = Gio.bus_get_sync(Gio.BusType.SESSION)
        address = session.call_sync("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None, None, 0, 5000)
        flags = Gio.DBusConnectionFlags
        self.bus = Gio.DBusConnection.new_for_address_sync(
            *address.unpack(), flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION)

    def call(self, node, interface, method, signature=None, *arguments):
        arguments = GLib.Variant(signature, arguments) if signature else None
        answer = self.bus.call_sync(*node, interface, method, arguments, None, 0, 5000).unpack()
        return answer[0] if answer else None

    def get(self, node, interface, name):
        return self.call(node, "org.freedesktop.DBus.Properties", "Get", "(ss)", interface, name)

    def all(self, node=None):
        """Everything on every page that there is: where it is, and what it is called. What goes away meanwhile is left
        out."""
        with contextlib.suppress(GLib.Error):
            if node:
                yield node, self.get(node, ACCESSIBLE, "Name")
                children = self.call(node, ACCESSIBLE, "GetChildren")
            else:
                names = self.call(("org.freedesktop.DBus", "/org/freedesktop/DBus"), "org.freedesktop.DBus", "ListNames")
                children = [page for name in names if ".WebProcess-" in name for page in self.pages(name)]
            for child in children:
                yield from self.all(child)

    def pages(self, name):
        with contextlib.suppress(GLib.Error):
            text = self.call((name, PAGES), "org.freedesktop.DBus.Introspectable", "Introspect")
            return [(name, f"{PAGES}/{page.get('name')}") for page in xml.etree.ElementTree.fromstring(text)
                    if page.tag == "node"]
        return []

    def find(self, name, is_meant):
        """The first of that name that is meant, as soon as it is there."""
        def look():
            with contextlib.suppress(GLib.Error):
                return next((node for node, found in self.all() if found == name and is_meant(node)), None)
        return wait(f"“{name}” on the page; there: {sorted({name for _, name in self.all() if name})}", look)

    def see(self, title):
        """Waits for the page with this title."""
        self.find(title, lambda node: "org.a11y.atspi.Document" in self.call(node, ACCESSIBLE, "GetInterfaces"))

    def text(self, node):
        return self.call(node, TEXT, "GetText", "(ii)", 0, self.get(node, TEXT, "CharacterCount"))

    def type(self, label, text):
        """Types into a field, with keys."""
        field = self.find(label, lambda node: TEXT in self.call(node, ACCESSIBLE, "GetInterfaces"))
        self.call(field, "org.a11y.atspi.Component", "GrabFocus")
        wait(f"the keys in “{label}”", lambda: self.call(field, ACCESSIBLE, "GetState")[0] >> FOCUSED & 1)
        self.keys("type", "--delay", "20", text)
        # Of a password, only the number of its characters is told.
        wait(f"the text in “{label}”", lambda: len(self.text(field)) == len(text))

    def click(self, label):
        button = self.find(label, lambda node: self.call(node, ACCESSIBLE, "GetRole") == BUTTON)
        self.call(button, "org.a11y.atspi.Action", "DoAction", "(i)", 0)

    def keys(self, *command):
        """Has xdotool press keys in the page's window."""
        window = self.program.window(self.title)
        subprocess.run(["xdotool", "windowfocus", "--sync", window, *command], check=True)

    def close(self):
        """Closes the window with the button in its header."""
        self.program.click_in(self.title, "Close", "push button|button")

    def gone(self):
        self.program.gone(self.title, "frame|window")
