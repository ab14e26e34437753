# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Looks for phrases in the sections that answer them: phrases.py TABLE DOCUMENTS PAGES. See Scripts/check-phrases."""

import os
import re
import subprocess
import sys

table, documents, pages = sys.argv[1:]
wrong = []


def section(text, heading, mark):
    """The text below a heading, as far as the next heading of its level or above; None without it."""
    lines = re.sub(r"```.*?```", lambda block: block[0].replace("\n#", "\n #"), text, flags=re.S).split("\n")
    for index, line in enumerate(lines):
        level = mark(line)
        if level and line.strip("# ").strip() == heading:
            rest = []
            for other in lines[index:]:
                if rest and 0 < mark(other) <= level:
                    break
                rest.append(other)
            return " ".join(" ".join(rest).split())
    return None


def markdown(line):
    return len(line) - len(line.lstrip("#")) if line.startswith("#") else 0


def formatted(page, width):
    environment = dict(os.environ, MANWIDTH=str(width), MANPAGER="cat", LC_ALL="C.UTF-8", MAN_KEEP_FORMATTING="")
    shown = subprocess.run(
        ["man", "--warnings=w", "--local-file", page], capture_output=True, text=True, env=environment, check=False
    )
    for warning in shown.stderr.strip().split("\n"):
        if warning:
            wrong.append(f"{os.path.basename(page)} at {width} columns: {warning}")
    return re.sub(r".\x08|\x1b\[[0-9;]*m", "", shown.stdout)


texts = {}
for name in sorted(os.listdir(pages)):
    formatted(os.path.join(pages, name), 72)
    texts[name] = formatted(os.path.join(pages, name), 80)
count = 0
for row in open(table, encoding="utf-8"):
    if row.startswith("#") or not row.strip():
        continue
    phrase, place = row.rstrip("\n").split("\t")
    file, heading = place.split("#", 1)
    count += 1
    if file.endswith(".md"):
        text = section(open(os.path.join(documents, file), encoding="utf-8").read(), heading, markdown)
    else:
        text = section(texts[file], heading, lambda line: 1 if line[:1].strip() and line == line.upper() else 0)
    if text is None:
        wrong.append(f"{file} has no section '{heading}'")
    elif phrase.lower() not in text.lower():
        wrong.append(f"'{phrase}' is not in {file}, {heading}")
if wrong:
    sys.exit("ERROR: " + "\n       ".join(wrong))
print(f"{count} phrases, each in its section; {len(texts)} pages without a warning")
