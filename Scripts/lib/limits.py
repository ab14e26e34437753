# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Checks the limits of the sources: limits.py. See Scripts/check-limits."""

import pathlib
import re
import sys

from knots import measure

SOURCES = pathlib.Path("Sources")
CORE = SOURCES / "IdentityClient"
TOOL = SOURCES / "identityctl"
TABLE = TOOL / "Settings/Setting.swift"
VALUES = TOOL / "Options/OptionGroups.swift"
# The choice for the first page of help is another one for each command.
FIRST_PAGE = TOOL / "Running/ShortHelp.swift"

texts = {path: path.read_text() for path in SOURCES.rglob("*.swift")}


def planted():
    """The lines that can make production code do what is wrong, for a test."""
    return sum(len(re.findall(r"\bmutations?\b|\bMutation\b|\bplanted\b", text)) for text in texts.values())


def core(measure):
    files = {path: text for path, text in texts.items() if path.is_relative_to(CORE)}
    return {
        "files": len(files),
        "lines": sum(text.count("\n") for text in files.values()),
        "folders": len({path.relative_to(CORE).parts[0] for path in files}),
        "longest": max(text.count("\n") for text in files.values()),
    }[measure]


def misplaced():
    """The core's types of 60 lines or more that three or more files use, and that stand in a file of another name."""
    files = {path: text for path, text in texts.items() if path.is_relative_to(CORE)}
    head = re.compile(r"^(?:@\w+ )?(?:public |package )?(?:final )?(?:class|struct|enum|actor|protocol) (\w+)[^{]*\{\n(.*?)^\}", re.M | re.S)
    found = set()
    for path, text in files.items():
        for name, body in head.findall(text):
            users = sum(bool(re.search(rf"\b{name}\b", other)) for other in files.values())
            if body.count("\n") >= 58 and path.stem.split("+")[0] != name and users >= 3:
                found.add(name)
    return found


def option_lists():
    """The most of the table's options that another file names without asking for their values, and the file."""
    names = set(re.findall(r'^ *\(\s*"([a-z-]+)",', texts[VALUES], re.M))
    if len(names) < 30:
        sys.exit(f"ERROR: {VALUES} is not read rightly")
    counts = {
        path: len(names & set(re.findall(r'(?<!given\()(?<!words\()(?<!isOn\()(?<!each\()"([a-z-]+)"', text)))
        for path, text in texts.items()
        if path.is_relative_to(TOOL) and path not in (TABLE, VALUES, FIRST_PAGE)
    }
    return max(counts.values()), max(counts, key=counts.get)


def registered(registry, kind):
    """The entries of a registry, and the values of its kind in the sources: each has its line."""
    text = "".join(text for path, text in texts.items() if path.is_relative_to(TOOL))
    entries = re.search(rf"static let all: \[{kind}\] = \[(.*?)\]", text, re.S)[1]
    values = set(re.findall(rf"static let (\w+) = {kind}\(", text))
    return values ^ set(re.findall(r"\.(\w+)", entries))


def places(pattern):
    """The places of the tool's code, without comments, that a pattern finds."""
    texts_of_tool = [text for path, text in texts.items() if path.is_relative_to(TOOL)]
    return sum(len(re.findall(pattern, re.sub(r"//.*", "", text))) for text in texts_of_tool)


WINGS = ("IdentityCapture", "IdentityResources", "IdentityKeyring", "IdentityBroker", "IdentityMSALCaches", "IdentityMSALKeyring",
         "IdentityPostgreSQL")


def doors(wing):
    """The types of the core that a wing names and no program can."""
    declared = re.compile(r"^\s*package (?:[a-z]+ )*(?:enum|struct|class|protocol|actor) (\w+)", re.M)
    types = {name for path, text in texts.items() if path.is_relative_to(CORE) for name in declared.findall(text)}
    own = "".join(text for path, text in texts.items() if path.is_relative_to(SOURCES / wing))
    return types & set(re.findall(r"\w+", own))


worst, place = option_lists()
tool, library = measure(TOOL), measure(CORE)
rows = [
    ("planted mistakes in Sources", planted(), 0),
    ("folders of the core", core("folders"), 10),
    ("files of the core", core("files"), 140),
    ("lines of the core", core("lines"), 24_600),
    ("large types of the core in a file of another name", len(misplaced()), 0),
    ("lines of the core's longest file", core("longest"), 400),
    (f"options that a file beside the table names ({place.name})", worst, 10),
    ("doors of the core in one wing", max(len(doors(wing)) for wing in WINGS), 15),
    ("folders of the tool in one knot", tool["folders in one knot"][0], 0),
    ("lines of the tool's largest knot of files", tool["lines of the largest knot of files"][0], 820),
    ("lines that hang on the tool's median type", tool["lines that hang on the median type"][0], 1_230),
    ("places of the tool that make an application object", places(r"PublicClientApplication\("), 1),
    ("places of the tool that read the agent's variable", places(r'self\["IDENTITYCTL_AGENT"\]|given\("agent"'), 1),
    ("places of the tool that choose a source of tokens", places(r"AgentSource\("), 1),
    ("lines of the core's largest knot of files", library["lines of the largest knot of files"][0], 1_400),
    ("helpers without their line", len(registered("Helper.all", "Helper")), 0),
    ("integrations without their line", len(registered("IntegratedTool.all", "IntegratedTool")), 0),
]
for what, value, limit in rows:
    print(f"{what}: {value} (at most {limit})")
if wrong := [what for what, value, limit in rows if value > limit]:
    sys.exit(f"ERROR: above the limit: {'; '.join(wrong)}")
