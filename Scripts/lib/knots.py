# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Counts what hangs together in a source folder: knots.py SOURCES [--names]. See Scripts/check-limits.

A file uses another if it names a type that the other declares at its top. A knot is a set of files, or of folders, each of
which uses each other, directly or through others. What hangs on a type is all that a reader of it may have to read: the
lines of every type that it reaches through names, each counted once.
"""

import pathlib
import re
import statistics
import sys

from floors import code, declarations

DECLARED = re.compile(r"\b(?:class|struct|enum|actor|protocol|extension|typealias)\s+([A-Z]\w*)")


def knots(uses):
    """The sets of nodes that reach one another (Tarjan), the largest first."""
    number, low, stack, on, found = {}, {}, [], set(), []

    def visit(start):
        work = [(start, iter(sorted(uses.get(start, ()))))]
        number[start] = low[start] = len(number)
        stack.append(start), on.add(start)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in number:
                    number[to] = low[to] = len(number)
                    stack.append(to), on.add(to)
                    work.append((to, iter(sorted(uses.get(to, ())))))
                    break
                if to in on:
                    low[node] = min(low[node], number[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    knot = set()
                    while True:
                        member = stack.pop()
                        on.discard(member), knot.add(member)
                        if member == node:
                            break
                    found.append(knot)

    for node in sorted(uses):
        if node not in number:
            visit(node)
    return sorted(found, key=len, reverse=True)


def reached(start, uses):
    seen, work = {start}, [start]
    while work:
        for to in uses.get(work.pop(), ()):
            if to not in seen:
                seen.add(to), work.append(to)
    return seen


def pieces(path):
    """(name of the type, lines, code) for each declaration at the top of the file, extensions included."""
    name, depth, lines, text = None, 0, 0, []
    for line in code(path.read_text()).split("\n"):
        if depth == 0 and (match := DECLARED.search(line)):
            name = match[1]
        lines += 1
        text.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.strip() and (name or line == "}"):  # the latter ends a function of no type
            if name:
                yield name, lines, "\n".join(text)
            name, lines, text = None, 0, []


def measure(sources):
    files = {path: code(path.read_text()) for path in sorted(sources.rglob("*.swift"))}
    count = {path: path.read_text().count("\n") for path in files}
    home, private, nested = {}, {}, {}
    for path, text in files.items():
        top, every, _ = declarations(text)
        home |= {name: path for name in top}
        private[path], nested[path] = every, every - top
    names = {path: {word for word in re.findall(r"\b[A-Z]\w*", text) if word in home} for path, text in files.items()}
    uses = {path: {home[word] for word in words if home[word] != path and (word not in private[path])} for path, words in names.items()}
    folder = {path: path.relative_to(sources).parts[0] for path in files}
    folders = {name: {folder[to] for path in files if folder[path] == name for to in uses[path]} - {name} for name in set(folder.values())}

    size, named = {}, {}
    for path in files:
        for name, lines, text in pieces(path):
            if name in home:
                size[name] = size.get(name, 0) + lines
                own = nested[path] | {name}
                named.setdefault(name, set()).update(w for w in re.findall(r"\b[A-Z]\w*", text) if w in home and w not in own)
    reach = {name: sum(size.get(to, 0) for to in reached(name, named)) for name in size}

    knot = max(knots(uses), key=lambda one: sum(count[path] for path in one) if len(one) > 1 else 0)
    crowd = knots(folders)[0]
    return {
        "folders in one knot": (len(crowd) if len(crowd) > 1 else 0, sorted(crowd)),
        "lines of the largest knot of files": (sum(count[p] for p in knot) if len(knot) > 1 else 0, sorted(p.name for p in knot)),
        "lines that hang on the median type": (int(statistics.median(reach.values())), sorted(reach.items(), key=lambda x: -x[1])[:20]),
    }


if __name__ == "__main__":
    for what, (value, names) in measure(pathlib.Path(sys.argv[1])).items():
        print(f"{what}: {value}")
        if "--names" in sys.argv:
            print("   ", *names)
