# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The reference of identityctl and its man pages, from what the program says of itself and from its table of settings.

manual.py reference PROGRAM            prints Docs/reference.md
manual.py pages PROGRAM FOLDER DATE    writes a man page for each command
"""

import collections
import json
import os
import re
import subprocess
import sys
import textwrap

SETTINGS = os.path.join(os.path.dirname(__file__), "../../Sources/identityctl/Settings/Setting.swift")
Setting = collections.namedtuple("Setting", "kind isLine")
Command = collections.namedtuple("Command", "words abstract discussion arguments commands")


def said(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True).stdout


def settings():
    """The rows of the table, by name."""
    text = open(SETTINGS, encoding="utf-8").read()
    return {
        name: Setting("list" if kind in ("list", "words") else kind, "isNoLine" not in rest)
        for name, kind, rest in re.findall(r'Setting\("([a-z-]+)", \.(\w+)(.*?)\)', text)
    }


def command(node, words=()):
    own = words + (node["commandName"],)
    return Command(
        own,
        node.get("abstract", ""),
        node.get("discussion", ""),
        [a for a in node.get("arguments", []) if a["shouldDisplay"]],
        [command(n, own) for n in node.get("subcommands", []) if n["shouldDisplay"] and n["commandName"] != "help"],
    )


def walk(root):
    yield root
    for child in root.commands:
        yield from walk(child)


def label(argument):
    if argument["kind"] == "positional":
        return argument["valueName"]
    names = ", ".join(("--" if n["kind"] == "long" else "-") + n["name"] for n in argument["names"])
    return names + (f" {argument['valueName'].upper()}" if argument["kind"] == "option" else "")


def name(argument):
    return argument.get("preferredName", {}).get("name", argument["valueName"])


def about(argument, table):
    """The text of an option, and where else it can stand."""
    text = " ".join(filter(None, [argument.get("abstract"), argument.get("discussion")]))
    # Options of these names that are of one call alone.
    isOfCall = name(argument) == "timeout" and "sign-in" not in text or "--device-secret" in text
    row = None if isOfCall else table.get(name(argument))
    return text, row and "IDENTITYCTL_" + name(argument).replace("-", "_").upper(), row


def paragraphs(text):
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text) if p.strip()]


def synopsis(node):
    positional = [a for a in node.arguments if a["kind"] == "positional"]
    words = [a["valueName"].upper() + ("..." if a.get("isRepeating") else "") for a in positional]
    words = [w if not a.get("isOptional") else f"[{w}]" for w, a in zip(words, positional)]
    if node.commands:
        words.append("COMMAND")
    if any(a["kind"] != "positional" and name(a) not in ("version", "help") for a in node.arguments):
        words.insert(0, "[OPTION...]")
    return " ".join(node.words), " ".join(words)


def reference(program):
    table, root = settings(), command(json.loads(said(program, "--experimental-dump-help"))["command"])
    nodes = [n for n in walk(root) if n is not root]
    uses = collections.Counter()
    first = {}
    for node in nodes:
        for argument in node.arguments:
            key = (label(argument), argument.get("abstract"))
            uses[key] += 1
            first.setdefault(key, argument)
    shared = {key for key, count in uses.items() if count > 2}

    def line(argument):
        text, variable, row = about(argument, table)
        marks = [f"`{variable}`"] if variable else []
        if row and row.isLine:
            marks.append("lines" if row.kind == "list" else "line")
        return f"- `{label(argument)}`" + (f" ({', '.join(marks)})" if marks else "") + f": {text}"

    out = [
        "# Reference of identityctl",
        "",
        "Made by `Scripts/check-reference --update` from the program and from its table of settings. The guide of tasks is",
        "[identityctl.md](identityctl.md). After an option stand its variable, and whether it may be a line of a profile, or",
        "several lines.",
        "",
        "## Options of several commands",
        "",
    ]
    out += [line(first[key]) for key in first if key in shared]
    lines = sorted(set(table) - {name(a) for n in nodes for a in n.arguments})
    out += ["", "Lines of a profile without an option: " + ", ".join(f"`{l}`" for l in lines) + ".", "", "## Commands"]
    for node in nodes:
        title, rest = synopsis(node)
        out += ["", f"### {title}", ""]
        if rest:
            out += [f"`{title} {rest}`", ""]
        out += [node.abstract, ""]
        for text in paragraphs(node.discussion):
            out += [text, ""]
        own = [a for a in node.arguments if (label(a), a.get("abstract")) not in shared]
        out += [line(a) for a in own]
        common = [f"`--{name(a)}`" for a in node.arguments if (label(a), a.get("abstract")) in shared]
        common = [c for c in common if c not in ("`--version`", "`--help`")]
        if common:
            out += ([""] if own else []) + ["Also " + ", ".join(common) + "."]
        while out[-1] == "":
            out.pop()
    wrapped = []
    for text in out:
        hang = "  " if text.startswith("- ") else ""
        wrapped += textwrap.wrap(text, 125, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False) or [""]
    print("\n".join(wrapped))


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def page(program, node, root, table, date):
    title = "-".join(node.words)
    head, rest = synopsis(node)
    # Nothing is hyphenated or justified: names of options stay whole.
    out = [f".TH {title.upper()} 1 {date} identityctl", ".nh", ".ad l", ".SH NAME", f"{roff(title)} \\- {roff(node.abstract.rstrip('.'))}"]
    out += [".SH SYNOPSIS", f".B {roff(head)}", f"{roff(rest)}" if rest else ".br"]
    if node.discussion:
        out += [".SH DESCRIPTION"]
        for text in paragraphs(node.discussion):
            out += [".PP", roff(text)]
    helped = said(program, *node.words[1:], "--help").split("EXAMPLES:\n")
    if len(helped) > 1:
        out += [".SH EXAMPLES", ".nf"] + [roff(l) for l in helped[1].split("\n\n")[0].split("\n")] + [".fi"]
    if node.arguments:
        out += [".SH OPTIONS"]
    for argument in node.arguments:
        text, variable, row = about(argument, table)
        out += [".TP", f".B {roff(label(argument))}", roff(text)]
        if variable:
            out += [".br", roff(f"Variable: {variable}." + (" It may be a line of a profile." if row.isLine else ""))]
    if node.commands:
        out += [".SH COMMANDS"]
        for child in node.commands:
            out += [".TP", f".BR {roff('-'.join(child.words))} (1)", roff(child.abstract)]
    if node is not root:
        out += [".SH EXIT STATUS", "It says what to do next:", ".BR identityctl\\-guide (7)", "lists all of them."]
    others = [] if node is root else ["-".join(node.words[:-1])]
    see = [f".BR {roff(o)} (1)," for o in others] + [".BR identityctl\\-guide (7),", ".BR identityctl\\-integrations (7)"]
    return "\n".join(out + [".SH SEE ALSO"] + see) + "\n"


def pages(program, folder, date):
    root = command(json.loads(said(program, "--experimental-dump-help"))["command"])
    table = settings()
    for node in walk(root):
        with open(os.path.join(folder, "-".join(node.words) + ".1"), "w", encoding="utf-8") as file:
            file.write(page(program, node, root, table, date))


if sys.argv[1] == "reference":
    reference(sys.argv[2])
else:
    pages(*sys.argv[2:])
