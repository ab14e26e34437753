# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A disk that forgets: what each prefix of recorded calls may leave behind after a power loss.

Only fsync makes anything durable: of a file its content, size and mode, of a directory its names. Everything else is
pending, and after a crash each pending change is there or not, whatever came before or after it:

  - of a directory: every subset of its pending changes, up to SUBSETS of them; beyond that every prefix, every suffix, and
    all changes without one. A rename is one change, as in every file system with a journal.
  - of a file: every prefix of its pending changes, all without one, and each write as zeros (the size is there, the data are
    not) or cut at its half, with all others, with those before it, and alone.
  - of several files and directories: every combination, up to COMBINATIONS for one prefix of the calls. Beyond that every
    combination of the directories, and for each the files all newest, all oldest, and one in each of its states beside these.

A disk is a dictionary from relative path to ("d", mode, None) or ("f", mode, content).
"""
import itertools
import os

from calls import NotModelled

SUBSETS = 6
COMBINATIONS = 3000


class Inode:
    """A file or directory: what is durable, and what is pending as (when, change)."""

    def __init__(self, number, is_directory, mode):
        self.number, self.is_directory = number, is_directory
        self.durable = ({}, mode) if is_directory else (b"", mode)
        self.pending = []

    def applied(self, changes):
        content, mode = self.durable
        content = dict(content) if self.is_directory else content
        for change in changes:
            match change:
                case ("names", names):
                    content.update(names)
                case ("write", at, data):
                    content = content[:at].ljust(at, b"\0") + data + content[at + len(data):]
                case ("size", size):
                    content = content[:size].ljust(size, b"\0")
                case ("allocate", size):
                    content = content.ljust(size, b"\0")
                case ("mode", mode):
                    pass
        if self.is_directory:
            content = {name: inode for name, inode in content.items() if inode is not None}
        return content, mode

    def now(self):
        return self.applied([change for _, change in self.pending])

    def change(self, when, *change):
        self.pending.append((when, change))

    def sync(self, began):
        done = [change for when, change in self.pending if when < began]
        self.pending = [entry for entry in self.pending if entry[0] >= began]
        content, mode = self.applied(done)
        self.durable = (content, mode)

    def states(self):
        """Every state after a crash, once each; the newest first, the durable one last."""
        changes = [change for _, change in self.pending]
        count = len(changes)
        if self.is_directory and count <= SUBSETS:
            chosen = [[c for c, keep in zip(changes, kept) if keep] for kept in itertools.product((True, False), repeat=count)]
        else:
            chosen = [changes[:end] for end in range(count, -1, -1)] + [changes[:i] + changes[i + 1:] for i in range(count)]
            if self.is_directory:
                chosen += [changes[start:] for start in range(count)]
            for i, change in enumerate(changes):
                if change[0] != "write":
                    continue
                _, at, data = change
                for torn in (("write", at, bytes(len(data))), ("write", at, data[: len(data) // 2])):
                    chosen.append(changes[:i] + [torn] + changes[i + 1:])
                    chosen.append(changes[:i] + [torn])
                    chosen.append([torn])
        found = {}
        for some in chosen:
            content, mode = self.applied(some)
            key = (tuple(sorted((n, i.number) for n, i in content.items())) if self.is_directory else content, mode)
            found.setdefault(key, (content, mode))
        return list(found.values())


class Disk:
    """The files below `root`, as the program's calls change them."""

    def __init__(self, root):
        self.root = os.path.normpath(root)
        self.top = Inode(0, True, 0o700)
        self.count = 0
        self.open = {}
        self.bounded = 0
        self._load(self.top, self.root)

    def _load(self, directory, path):
        """Takes what is there now as durable."""
        names = {}
        for entry in os.scandir(path):
            inode = names[entry.name] = self._new(entry.is_dir(follow_symlinks=False), entry.stat().st_mode & 0o7777)
            if inode.is_directory:
                self._load(inode, entry.path)
            else:
                with open(entry.path, "rb") as file:
                    inode.durable = (file.read(), inode.durable[1])
        directory.durable = (names, os.stat(path).st_mode & 0o7777)

    def _new(self, is_directory, mode):
        self.count += 1
        return Inode(self.count, is_directory, mode)

    def _find(self, at, path):
        """The directory of a path and the last name; None for a path that leads elsewhere."""
        if path.startswith("/") or at is None:
            path = os.path.normpath(os.path.join("/", path))
            if path == self.root:
                return self.top, "."
            if not path.startswith(self.root + "/"):
                return None
            directory, parts = self.top, path[len(self.root) + 1:].split("/")
        else:
            description = self.open.get(at)
            if description is None:
                return None
            directory, parts = description["inode"], [part for part in path.split("/") if part != "."]
            if not parts:
                return directory, "."
        if ".." in parts:
            raise NotModelled(f"a path with ..: {path}")
        for part in parts[:-1]:
            directory = directory.now()[0].get(part)
            if directory is None or not directory.is_directory:
                return None
        return directory, parts[-1]

    def apply(self, event):
        """Does what the event did. Returns whether it touched these files."""
        v, when = event.values, event.ended
        description = self.open.get(v.get("fd"))
        match event.kind:
            case "open":
                return self._open(when, **v)
            case "close":
                self.open.pop(v["fd"], None)
            case "duplicate":
                self.open.pop(v["to"], None)
                if description:
                    self.open[v["to"]] = description
            case "read" if description:
                description["offset"] += v["count"]
            case "seek" if description:
                description["offset"] = v["to"]
            case "write" if description:
                at = description["offset"] if v["at"] is None else v["at"]
                if description["appends"]:
                    at = len(description["inode"].now()[0])
                description["inode"].change(when, "write", at, v["bytes"])
                if v["at"] is None:
                    description["offset"] = at + len(v["bytes"])
                return True
            case "size" | "allocate" if description:
                description["inode"].change(when, event.kind, v["size"])
                return True
            case "map" if description:
                raise NotModelled("a file is mapped for writing")
            case "mode":
                place = None if v["fd"] is not None else self._find(v["at"], v["path"])
                inode = description["inode"] if description else place and place[0].now()[0].get(place[1])
                if inode:
                    inode.change(when, "mode", v["mode"])
                    return True
            case "sync" if v["fd"] is None:
                for inode in self._all():
                    inode.sync(event.began)
                return True
            case "sync" if description:
                description["inode"].sync(event.began)
                return True
            case "mkdir":
                return self._name(when, self._find(v["at"], v["path"]), lambda: self._new(True, v["mode"]))
            case "unlink":
                return self._name(when, self._find(v["at"], v["path"]), lambda: None)
            case "rename" | "link":
                return self._move(when, event.kind, self._find(v["at"], v["path"]), self._find(v["to_at"], v["to"]))
        return False

    def _all(self, inode=None):
        inode = inode or self.top
        yield inode
        if inode.is_directory:
            for child in inode.now()[0].values():
                yield from self._all(child)

    def _open(self, when, at, path, flags, mode, fd):
        self.open.pop(fd, None)
        place = self._find(at, path)
        if place is None:
            return False
        directory, name = place
        if "O_TMPFILE" in flags:
            raise NotModelled("a file without a name")
        inode = directory if name == "." else directory.now()[0].get(name)
        made = inode is None
        if made:
            inode = self._new(False, mode)
            directory.change(when, "names", {name: inode})
        if "O_TRUNC" in flags and not made:
            inode.change(when, "size", 0)
        self.open[fd] = {"inode": inode, "offset": 0, "appends": "O_APPEND" in flags}
        return made or "O_TRUNC" in flags

    @staticmethod
    def _name(when, place, inode):
        if place is None:
            return False
        place[0].change(when, "names", {place[1]: inode()})
        return True

    @staticmethod
    def _move(when, kind, source, target):
        if source is None and target is None:
            return False
        if source is None or target is None:
            raise NotModelled(f"a {kind} across the border of the disk")
        inode = source[0].now()[0][source[1]]
        if kind == "link":
            target[0].change(when, "names", {target[1]: inode})
        elif target[0].now()[0].get(target[1]) is inode:
            return False  # rename(2) of two names of one file does nothing.
        elif source[0] is target[0]:
            source[0].change(when, "names", {source[1]: None, target[1]: inode})
        else:
            raise NotModelled("a rename from one directory to another")
        return True

    def current(self):
        """The disk as the program sees it."""
        return self._tree(lambda inode: inode.now())

    def _tree(self, choose):
        found = {}

        def add(inode, path):
            content, mode = choose(inode)
            found[path] = ("d", mode, None) if inode.is_directory else ("f", mode, content)
            if inode.is_directory:
                for name, child in content.items():
                    add(child, f"{path}/{name}" if path != "." else name)

        add(self.top, ".")
        return found

    def after_crash(self):
        """Every disk that a crash at this moment could leave."""
        for names in self._directories():
            reached = {}

            def walk(inode):
                reached[inode.number] = inode
                if inode.is_directory:
                    for child in names[inode.number][0].values():
                        walk(child)

            walk(self.top)
            files = [inode for inode in reached.values() if not inode.is_directory]
            choices = [inode.states() for inode in files]
            total = 1
            for states in choices:
                total *= len(states)
            if total * self._width > COMBINATIONS:
                self.bounded += 1
                combinations = self._some(choices)
            else:
                combinations = itertools.product(*choices)
            for combination in combinations:
                chosen = {inode.number: state for inode, state in zip(files, combination)}
                yield self._tree(lambda inode: names[inode.number] if inode.is_directory else chosen[inode.number])

    @staticmethod
    def _some(choices):
        newest, oldest = [states[0] for states in choices], [states[-1] for states in choices]
        yield newest
        yield oldest
        for at, states in enumerate(choices):
            for state in states:
                for others in (newest, oldest):
                    yield others[:at] + [state] + others[at + 1:]

    def _directories(self):
        """Every combination of the directories' states: number of the inode to (names, mode)."""
        known, queue = {}, [self.top]
        while queue:
            inode = queue.pop()
            if inode.number in known:
                continue
            known[inode.number] = inode.states()
            for names, _ in known[inode.number]:
                queue += [child for child in names.values() if child.is_directory]
        numbers = list(known)
        self._width = 1
        for states in known.values():
            self._width *= len(states)
        for combination in itertools.product(*known.values()):
            yield dict(zip(numbers, combination))
