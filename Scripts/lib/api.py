# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Lists a module's public declarations: api.py GRAPH... reads symbol graphs of one module. See Scripts/check-api.

Each type with its protocols, its members indented below it, in alphabetical order.
"""

import json
import sys

# Protocols that the compiler adds or that say nothing about use.
UNLISTED = {"Copyable", "Escapable", "SendableMetatype"}


def main():
    symbols, protocols = {}, {}
    for path in sys.argv[1:]:
        with open(path) as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            symbols[symbol["identifier"]["precise"]] = symbol
        for relation in graph["relationships"]:
            if relation["kind"] == "conformsTo":
                target = relation["target"]
                protocols.setdefault(relation["source"], {})[target] = relation.get("targetFallback", target)
    lines = []
    for identifier, symbol in symbols.items():
        text = "".join(fragment["spelling"] for fragment in symbol["declarationFragments"])
        names = {
            symbols[target]["names"]["title"] if target in symbols else fallback.split(".")[-1]
            for target, fallback in protocols.get(identifier, {}).items()
        }
        names = sorted(names - UNLISTED)
        if names and symbol["kind"]["identifier"] != "swift.protocol":
            text += ": " + ", ".join(names)
        path = symbol["pathComponents"]
        lines.append((path[:-1], path[-1], text, "  " * (len(path) - 1) + " ".join(text.split())))
    # A type comes before its members, and its members before the next type.
    for _, _, _, line in sorted(lines, key=lambda line: (line[0] + [line[1]], line[2])):
        print(line)


main()
