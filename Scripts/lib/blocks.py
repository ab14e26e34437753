# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Makes Swift files of the blocks of code in documents: blocks.py OUTPUT CONTEXT DOCUMENT... See Scripts/check-documents.

A document becomes one file with one function: each block stands in a scope inside the one before it, so that it may use and
replace what came before. Declarations that cannot stand in a function, such as extensions and tests, stand beside it.
CONTEXT holds a file for each document that takes something as given: Name.swift declares it, in the document's own words. It
may say of a block that it is not compiled, that it stands outside of the function or apart from the others there, and which
type the blocks' `return` gives.
"""

import pathlib
import re
import sys

OUTSIDE = re.compile(r"\s*(?:@main\b|(?:public |package |private )?extension\b|import\b|@Suite\b|@Test\b)", re.MULTILINE)
USUAL = ["import FoundationEssentials", "import HTTPTypes", "import Given", "import IdentityClient"]
IMPORT = re.compile(r"^\s*(?:@\w+ )?import \w+.*$")


def blocks(path):
    """(line number of its first line, its lines) for each block of Swift."""
    number, inside, found = 0, None, []
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if inside is None and re.fullmatch(r"\s*```swift", line):
            inside = (number + 1, [])
        elif inside and re.fullmatch(r"\s*```", line):
            found.append(inside)
            inside = None
        elif inside:
            inside[1].append(line)
    return found


def named(remark, context):
    """The first lines of the blocks of which the context says so, each with its reason."""
    return set(re.findall(rf"^// {remark}: `(.*)`: .+$", context, re.MULTILINE))


def main():
    output, contexts = map(pathlib.Path, sys.argv[1:3])
    unused = {path.name for path in contexts.glob("*.swift")} - {"Given.swift"}
    count = 0
    for name in sys.argv[3:]:
        path = pathlib.Path(name)
        file = (path.stem if path.stem != "README" else "README-" + (path.parent.name or "package")) + ".swift"
        context = contexts / file
        given = context.read_text() if context.exists() else ""
        unused.discard(file)
        skipped, apart = named("Not compiled", given), named("Apart", given)
        out = named("Outside", given)
        missing = skipped | apart | out
        returned = re.search(r"^// Returns: (\S+)$", given, re.MULTILINE)
        imports, outside, beside, inside = set(USUAL), [], [], []
        for number, lines in blocks(path):
            first = lines[0].strip() if lines else ""
            missing.discard(first)
            if first in skipped:
                continue
            count += 1
            imports.update(line.strip() for line in lines if IMPORT.match(line))
            lines = ["" if IMPORT.match(line) else line for line in lines]
            place = f'#sourceLocation(file: "{path}", line: {number})'
            text = "\n".join([place, *lines, "#sourceLocation()"])
            body = [line for line in lines if line.strip()]
            if body and (first in out or OUTSIDE.match(body[0])):
                outside.append(text)
            elif body and first in apart:
                beside.append("do {\n" + text + "\n}")
            elif body:
                inside.append("do {\n" + text)
        if missing:
            sys.exit(f"ERROR: {context} names blocks that {path} does not have: {', '.join(sorted(missing))}")
        if not inside and not outside and not beside:
            continue
        imports.update(line.strip() for line in given.split("\n") if IMPORT.match(line))
        given = "\n".join(line for line in given.split("\n") if not IMPORT.match(line))
        inside.append("}" * len(inside))
        if returned:
            inside.append("fatalError()")
        head = f"func document() async throws -> {returned[1] if returned else 'Void'} {{"
        (output / file).write_text("\n".join([*sorted(imports), given, *outside, head, *beside, *inside, "}\n"]))
    if unused:
        sys.exit(f"ERROR: no document has the name of {', '.join(sorted(unused))} in {contexts}")
    print(f"{count} blocks")


main()
