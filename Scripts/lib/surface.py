# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Compares a module's surface with its listing: surface.py LISTING SURFACE CHANGELOG. See Scripts/check-api."""

import pathlib
import re
import sys

NAME = re.compile(r"\b(?:func|var|let|case|class|struct|enum|protocol|typealias|subscript) ([^\s(<:,]+)|\b(init|subscript)\b")


def declarations(path):
    """Each line with the names of the types around it, and its own name."""
    outer, found = [], {}
    for line in pathlib.Path(path).read_text().splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        match = NAME.search(line)
        name = next(filter(None, match.groups())) if match else line.strip()
        outer[depth:] = [name]
        found[tuple(outer[:depth]), line.strip()] = name
    return found


def main():
    before, now = declarations(sys.argv[1]), declarations(sys.argv[2])
    text = pathlib.Path(sys.argv[3]).read_text()
    named = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", text.split("For those who build from `main`")[1]))))
    status = 0
    for (outer, line), name in sorted({**before, **now}.items()):
        if ((outer, line) in before) != ((outer, line) in now):
            if not ({name, *outer} - {"init", "subscript"}) & named:
                print("+" if (outer, line) in now else "-", ".".join((*outer, line)))
                status = 1
    sys.exit(status)


main()
