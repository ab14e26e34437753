# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Lists sentences that have to be read twice, in the files named on standard input. See Scripts/check-prose."""

import pathlib
import re
import sys

NO_VERB = r"(?:else|in|on|at|of|to|with|from|by|for|who|whom|that|and|or|but|if|when|where|than|as|because)\b"
RULES = [
    ("a relative clause as its beginning", re.compile(r"^(?:Who(?:ever)?|What(?:ever)?|That which)\b(?!.*\?$)")),
    ("is to be", re.compile(r"\b(?:is|are|was|were) (?:not )?to be\b")),
    ("nobody or somebody as a subject", re.compile(rf"\b(?i:no|some)body(?: else)? (?!{NO_VERB})\w")),
]
SENTENCE = re.compile(r".+?(?:[.!?][\"')*_]*(?=\s)|$)", re.DOTALL)
# The marks of a list, a table or emphasis before the first word of a sentence.
LEAD = re.compile(r"[\s*_\"'(>|#-]*(?:\d+\.\s+)?[*_\"'(]*")
PARAMETER = re.compile(r"\s*- [\w ]+:\s+")
LITERAL = re.compile(r'//[^\n]*|"""(.*?)"""|"((?:\\\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\\.|[^"\\\n])*)"', re.DOTALL)


def paragraphs(lines):
    """(line number, text) of each paragraph, list item and table cell, without code."""
    fenced, start, text = False, 0, ""
    for number, line in lines:
        if line.strip().startswith("```"):
            fenced = not fenced
        row = line.lstrip().startswith("|")
        if fenced or row or not line.strip() or re.match(r"\s*(?:[-*]|\d+\.|#+|```)(?: |$)|```", line.lstrip()):
            if text:
                yield start, text
            text = ""
        if row:
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", line))
        elif not fenced and line.strip() and not re.match(r"\s*(?:```|#+ )", line):
            start, text = (start, f"{text}\n{line}") if text else (number, PARAMETER.sub("", line))
    if text:
        yield start, text


def passages(path):
    """(line number, text) of everything that a reader reads in the file."""
    source = path.read_text(errors="replace")
    lines = list(enumerate(source.split("\n"), 1))
    if path.suffix == ".md":
        yield from paragraphs(lines)
        return
    comments, block = [], []
    for number, line in lines:
        comment = re.match(r"\s*/// ?(.*)", line)
        if comment:
            block.append((number, comment[1]))
        elif block:
            comments.append(block)
            block = []
    for block in comments:
        yield from paragraphs(block)
    if "Sources" in path.parts:
        for literal in LITERAL.finditer(source):
            text = literal[1] or literal[2] or ""
            if " " in text:
                yield source.count("\n", 0, literal.start()) + 1, re.sub(r"\\\(.*?\)|\\.", "x", text)


def findings(path):
    for number, text in passages(path):
        text = re.sub(r"``?[^`]+``?", lambda code: "x" + "\n" * code[0].count("\n"), text)
        for match in SENTENCE.finditer(text):
            begin = LEAD.match(text, match.start(), match.end()).end()
            sentence = " ".join(text[begin : match.end()].split())
            line = number + text.count("\n", 0, begin)
            for name, pattern in RULES:
                if found := pattern.search(sentence):
                    yield f"{path}:{line}: {name}: {sentence[max(0, found.start() - 40) :][:100]}"


def main():
    names = sys.stdin.read().split("\0")
    paths = [pathlib.Path(name) for name in names if name.endswith((".md", ".swift"))]
    found = [finding for path in paths if path.is_file() for finding in findings(path)]
    print("\n".join(found) if found else "no such sentence")
    if found:
        sys.exit(f"ERROR: {len(found)} sentences have to be read twice")


main()
