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
Setting = collections.namedtuple("Setting", "kind isLine text")
Command = collections.namedtuple("Command", "words abstract discussion arguments commands")


def said(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True).stdout


def settings():
    """The rows of the table, by name."""
    text = open(SETTINGS, encoding="utf-8").read()
    table = {
        name: Setting("list" if kind in ("list", "words") else kind, "isNoLine" not in rest, words)
        for words, name, kind, rest in re.findall(
            r'(?:^ +// ([^\n]*)\n)? +Setting\("([a-z-]+)", \.(\w+)(.*?)\)', text, re.M
        )
    }
    aws = re.search(r"static let awsNames = \[(.*?)\]", text, re.S)[1]
    for name in re.findall(r'"([a-z-]+)"', aws):
        table["aws-" + name] = Setting("text", True, f"The option --{name} of 'identityctl helper aws'.")
    return table


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
    isOfCall = name(argument) == "timeout" and "sign-in" not in text or "--device-secret" in text or name(argument) == "forward"
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
    options = {name(a) for n in nodes for a in n.arguments if about(a, table)[2]}
    lines = sorted(l for l in set(table) - options if not l.startswith("aws-"))
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


def variable_of(name):
    return "IDENTITYCTL_" + name.upper().replace("-", "_")


def texts(root, table):
    """What each setting is, from its words in the table or from the first option of its name."""
    found = {name: setting.text for name, setting in table.items() if setting.text}
    for node in walk(root):
        for argument in node.arguments:
            if argument["kind"] != "positional" and name(argument) in table:
                found.setdefault(name(argument), about(argument, table)[0])
    if missing := sorted(set(table) - set(found)):
        sys.exit(f"ERROR: no option has the names, and no comment in Setting.swift says what they are: {missing}")
    return found


# Variables of other programs, and what this one does with them.
VARIABLES = {
    "IDENTITYCTL_AGENT": "The socket of the agent that gives the tokens, in place of the profiles and the store of this machine.",
    "IDENTITYCTL_JSON, IDENTITYCTL_LOG_LEVEL": "As --json and --log-level, for all commands.",
    "HOME, XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR": "The places of the files below.",
    "BROWSER, DISPLAY, WAYLAND_DISPLAY": "The browser, and whether a page can be shown.",
    "https_proxy, all_proxy, no_proxy": "The proxy, unless --proxy or a line of a profile names one. This computer is never asked through one.",
    "SSL_CERT_FILE": "The certificate authorities, unless --ca-file or a line of a profile names a file.",
    "DBUS_SESSION_BUS_ADDRESS": "The bus of the keyring, of notifications and of the screen's lock.",
    "SSH_ASKPASS": "The program that the agent asks by where no notification is possible.",
    "VISUAL, EDITOR": "The editor of 'profile edit'.",
    "NO_COLOR, TERM, ACCESSIBLE, LANG, LC_ALL": "How texts for a person look: TERM=dumb and ACCESSIBLE replace no lines and draw nothing.",
    "CREDENTIALS_DIRECTORY": "Where systemd puts the credentials of a service, for encrypted:credential=NAME.",
}

FILES = {
    "~/.config/identityctl/profiles/NAME.conf": "A profile of yours. See identityctl-profile(5).",
    "~/.config/identityctl/default-profile": "The name of the default profile.",
    "~/.config/identityctl/token.key": "The usual place of a key for encrypted files on a machine without a keyring.",
    "/etc/identityctl/profiles/NAME.conf, /etc/identityctl/default-profile": "The same for all users of the machine.",
    "~/.local/state/swift-identity-client": "The tokens, if they rest in files: encrypted (.encrypted) or in clear text, and which store was chosen.",
    "~/.local/state/identityctl": "Which account is whose profile's (profile-accounts), which resources are known (resources), first answers to AI programs (mcp-answers), phantoms and ports of the forwarder (forward).",
    "$XDG_RUNTIME_DIR/identityctl/agent.sock": "The socket of the agent.",
    "$XDG_RUNTIME_DIR/identityctl/forward/NAME.sock": "The socket of a profile's forwarder.",
    "~/.local/bin": "Links by which programs call their helper.",
}


def entries(rows):
    """A list of names with their texts."""
    out = []
    for names, text in rows:
        out += [".TP", f".B {roff(names)}", roff(text)]
    return out


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
    if node is root:
        known = texts(root, table)
        # A forwarder acts for every program that connects, so that only a line makes one.
        rows = [(variable_of(n), known[n]) for n in sorted(table) if not n.startswith("forward")]
        out += [".SH ENVIRONMENT", "The command line stands above a variable, and that above the line of a profile. An empty variable counts as unset."]
        out += entries(list(VARIABLES.items()) + rows)
        out += [".SH FILES", "$XDG_CONFIG_HOME stands in for ~/.config, and $XDG_STATE_HOME for ~/.local/state, if they are set."]
        out += entries(FILES.items())
    else:
        out += [".SH EXIT STATUS", "It says what to do next:", ".BR identityctl\\-guide (7)", "lists all of them."]
    others = [] if node is root else ["-".join(node.words[:-1])]
    return "\n".join(out + [".SH SEE ALSO"] + see([f"{o}(1)" for o in others])) + "\n"


def see(pages=()):
    pages = list(pages) + ["identityctl-guide(7)", "identityctl-symptoms(7)", "identityctl-integrations(7)", "identityctl-profile(5)"]
    names = [f".BR {roff(p[:-3])} {p[-3:]}" for p in pages]
    return [n + "," for n in names[:-1]] + names[-1:]


PROFILE = os.path.join(os.path.dirname(__file__), "../../Docs/profile.md")


def profile_page(root, table, date):
    """identityctl-profile(5): the text of Docs/profile.md, and every line that a profile may have, from the table of settings."""
    known = texts(root, table)
    out = [f".TH IDENTITYCTL\\-PROFILE 5 {date} identityctl", ".nh", ".ad l", ".SH NAME", "identityctl\\-profile \\- a file with options under a name"]
    before, after = open(PROFILE, encoding="utf-8").read().split("<!-- lines -->\n")
    out += prose(before.split("\n", 1)[1])
    out += [".SH LINES"]
    kinds = {"switch": "on or off", "list": "may stand in several lines", "text": ""}
    for n in sorted(n for n in table if table[n].isLine):
        kind = kinds[table[n].kind]
        out += [".TP", f".B {roff(n)}" + (f"\n({kind})" if kind else ""), roff(known[n])]
    return "\n".join(out + prose(after) + [".SH SEE ALSO"] + see(["identityctl-profile(1)"])[:-1]).rstrip(",") + "\n"


def prose(text):
    """Paragraphs, headings, lists and blocks of a document, for man."""
    out, isBlock = [], False
    for line in text.strip("\n").split("\n"):
        if line.startswith("```"):
            isBlock = not isBlock
            out += [".PP", ".RS 4", ".nf"] if isBlock else [".fi", ".RE"]
        elif isBlock:
            out.append(roff(line))
        elif line.startswith("## "):
            out.append(f".SH {roff(line[3:].upper())}")
        elif line.startswith("- "):
            out += [".IP \\(bu 2", plain(line[2:])]
        elif not line.strip():
            out.append(".PP" if out and not out[-1].startswith(".SH") else "")
        else:
            out.append(plain(line.strip()))
    return [line for line in out if line]


def plain(text):
    """A line without the marks of Markdown."""
    return roff(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("**", "").replace("`", ""))


def pages(program, folder, date):
    root = command(json.loads(said(program, "--experimental-dump-help"))["command"])
    table = settings()
    for node in walk(root):
        with open(os.path.join(folder, "-".join(node.words) + ".1"), "w", encoding="utf-8") as file:
            file.write(page(program, node, root, table, date))
    with open(os.path.join(folder, "identityctl-profile.5"), "w", encoding="utf-8") as file:
        file.write(profile_page(root, table, date))


if sys.argv[1] == "reference":
    reference(sys.argv[2])
else:
    pages(*sys.argv[2:])
