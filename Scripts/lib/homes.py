# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Checks the table of types that stand in a file of another name: homes.py SOURCES DOCUMENT [--update]. See Scripts/check-floors.

The table has those that at least two other files name.
"""

import pathlib
import re
import sys

from floors import code, declarations

END = "```\n<!-- /types -->"


def table(sources):
    files = {path: code(path.read_text()) for path in sorted(sources.rglob("*.swift"))}
    words = {path: set(re.findall(r"\b[A-Z]\w*", text)) for path, text in files.items()}
    beside = {}
    for path, text in files.items():
        top, _, _ = declarations(text)
        for name in top - {path.stem.split("+")[0]}:
            if sum(name in words[other] for other in files if other != path) >= 2:
                beside.setdefault(path, []).append(name)
    names = {path: str(path.relative_to(sources).with_suffix("")) for path in beside}
    width = max(map(len, names.values()))
    return "".join(f"{names[path]:{width}}  {' '.join(sorted(types))}\n" for path, types in sorted(beside.items()))


def main():
    sources, document = map(pathlib.Path, sys.argv[1:3])
    text = document.read_text()
    begin = f"<!-- types of {sources.name} -->\n```\n"
    before, rest = text.split(begin, 1)
    shown, after = rest.split(END, 1)
    found = table(sources)
    if "--update" in sys.argv:
        document.write_text(before + begin + found + END + after)
    elif shown != found:
        sys.exit(f"ERROR: {document} shows other types. Run Scripts/check-floors --update.")


if __name__ == "__main__":
    main()
