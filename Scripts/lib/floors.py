# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Checks the floors of a source folder: floors.py SOURCES DOCUMENT [--update]. See Scripts/check-floors."""

import pathlib
import re
import sys

ROW = re.compile(r"^\| (\d+) \| ((?:`\w+/`[, and·on]*)+) \|", re.MULTILINE)
END = "```\n<!-- /floors -->"
TYPE = re.compile(r"\b(?:class|struct|enum|actor|protocol|typealias)\s+([A-Z]\w*)")
GENERIC = re.compile(r"[<,]\s*([A-Z]\w*)\s*:")
MEMBER = re.compile(r"\b(?:func|var|let|case)\s+(\w+)")


def code(text):
    """The source without comments and the text of literals."""
    text = re.sub(r'"""(?:\\.|[^\\])*?"""', '""', text, flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//.*', lambda match: '""' if match[0][0] == '"' else "", text)


def declarations(text):
    """The file's types at its top and anywhere, and (extended type, member) for each member of an extension."""
    depth, extended, top, members = 0, None, set(), set()
    every = set(TYPE.findall(text)) | set(GENERIC.findall(text))
    for line in text.split("\n"):
        if depth == 0:
            extended = re.match(r"(?!.*\b(?:file)?private\b.*\bextension\b).*\bextension\s+([A-Z]\w*)", line)
            if not re.match(r"\s*(?:file)?private\b", line):
                top.update(TYPE.findall(line))
        elif depth == 1 and extended and not re.match(r"\s*(?:file)?private\b", line):
            members.update((extended[1], name) for name in MEMBER.findall(line))
        depth += line.count("{") - line.count("}")
    return top, every, members


def arrows(sources):
    """Folder to folder to the names for which the arrow stands."""
    files = [(path, path.relative_to(sources).parts[0], code(path.read_text())) for path in sources.glob("*/**/*.swift")]
    home, member_homes, own = {}, {}, {}
    extensions = []
    for path, folder, text in files:
        top, every, members = declarations(text)
        own.setdefault(folder, set()).update(every)
        for name in top:
            home[name] = folder
        extensions += [(folder, extended, name) for extended, name in members]
        for name in MEMBER.findall(text):
            member_homes.setdefault(name, set()).add(folder)
    # A member counts that no other folder declares, and that is added to a type of another folder.
    added = {
        name: folder
        for folder, extended, name in extensions
        if home.get(extended, folder) != folder and member_homes[name] == {folder}
    }
    found = {}
    for path, folder, text in files:
        names = {(word, home[word]) for word in re.findall(r"\b[A-Z]\w*", text) if word in home}
        names = {(word, to) for word, to in names if word not in own[folder]}
        names |= {(word, added[word]) for word in re.findall(r"\.(\w+)", text) if word in added}
        for word, to in names:
            if to != folder:
                found.setdefault(folder, {}).setdefault(to, set()).add(f"{word} in {path.name}")
    return found


def main():
    sources, document = map(pathlib.Path, sys.argv[1:3])
    text = document.read_text()
    begin = f"<!-- floors of {sources.name} -->\n```\n"
    before, rest = text.split(begin, 1)
    shown, after = rest.split(END, 1)
    # The table of the floors is the last one above the drawing.
    table = before[before.rindex("| Floor | Folder"):]
    floors = {name: int(floor) for floor, names in ROW.findall(table) for name in re.findall(r"\w+(?=/)", names)}
    folders = {path.parts[-1] for path in sources.iterdir() if any(path.rglob("*.swift"))}
    if folders != set(floors):
        sys.exit(f"ERROR: folders and floors in {document} differ: {', '.join(sorted(folders ^ set(floors)))}")
    found = arrows(sources)
    wrong = [
        f"{folder} uses {to}: {', '.join(sorted(names)[:5])}"
        for folder, uses in sorted(found.items())
        for to, names in sorted(uses.items())
        if floors[to] >= floors[folder]
    ]
    if wrong:
        sys.exit("ERROR: arrows that go up or round:\n  " + "\n  ".join(wrong))
    order = sorted(floors, key=lambda name: (-floors[name], name))
    drawing = "".join(
        f"{name:12} ► {' '.join(to for to in order if to in found.get(name, {}))}".rstrip(" ►") + "\n" for name in order
    )
    if "--update" in sys.argv:
        document.write_text(before + begin + drawing + END + after)
    elif shown != drawing:
        sys.exit(f"ERROR: {document} shows other arrows. Look at them, then run Scripts/check-floors --update:\n{drawing}")
    print(drawing, end="")


if __name__ == "__main__":
    main()
