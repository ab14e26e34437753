# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The system calls of a program, as strace recorded them: what it did to files, and what it told others.

record() runs a program under strace. events() makes of the record a list of Event, in the order in which the calls ended;
an event that tells something stands where its call began. A call that could change files and is not known here is an error,
not a gap.
"""
import os
import re
import subprocess
from dataclasses import dataclass

FILES = (
    "open openat creat close read write pwrite64 writev pwritev pwritev2 ftruncate truncate fallocate lseek mmap "
    "rename renameat renameat2 link linkat unlink unlinkat rmdir mkdir mkdirat symlink symlinkat mknod mknodat "
    "fsync fdatasync sync syncfs sync_file_range msync fchmod chmod fchmodat fchmodat2 dup dup2 dup3 fcntl "
    "copy_file_range sendfile splice chdir fchdir io_uring_setup"
).split()
OTHERS = "sendto sendmsg sendmmsg connect clone clone3 fork vfork exit_group".split()
LINE = re.compile(r"(\d+) +(?:<\.\.\. (\w+) resumed>)?(.*)", re.S)
CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+|\?|0x[0-9a-f]+)", re.S)
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


@dataclass
class Event:
    """One call that did something: its kind, where it began and ended in the record, and its arguments."""

    kind: str
    began: int
    ended: int
    values: dict


class NotModelled(Exception):
    """The record has a call that the model of the disk does not know."""


def record(command, environment, path, text=b"", inject=None, timeout=60):
    """Runs a program under strace, with `text` on its standard input; returns what it printed and its status."""
    strace = ["strace", "-f", "-qq", "-xx", "-s", "4000000", "-o", path, "-e", "signal=none"]
    # Older kernels have no fchmodat2: a question mark lets strace go on without it.
    strace += ["-e", "trace=" + ",".join("?" + name for name in FILES + OTHERS)]
    strace += ["-e", inject] if inject else ["--seccomp-bpf"]
    return subprocess.run(strace + ["--"] + command, env=environment, input=text, capture_output=True, timeout=timeout, cwd="/")


def events(path):
    """The events of the program itself; the programs that it started, such as a browser, have none."""
    own, unfinished, calls = set(), {}, []
    with open(path, encoding="ascii", errors="strict") as lines:
        for number, line in enumerate(lines):
            process, resumed, rest = LINE.fullmatch(line.rstrip("\n")).groups()
            own = own or {process}
            if rest.endswith("<unfinished ...>"):
                unfinished[process] = (number, rest.removesuffix("<unfinished ...>"))
                continue
            began, rest = (number, rest) if not resumed else (unfinished[process][0], unfinished.pop(process)[1] + rest)
            call = CALL.match(rest)
            if call is None:
                continue  # "+++ exited" and calls that a signal ended
            name, arguments, result = call.groups()
            if name in ("clone", "clone3", "fork", "vfork"):
                # A thread's first call may stand in the record before the call that made it has ended.
                if "CLONE_THREAD" in arguments:
                    own.add(result)
                continue
            calls.append((process, began, number, name, arguments, result))
    return [event for call in calls if call[0] in own for event in interpret(*call[1:])]


def split(arguments):
    """The arguments of a call, where commas inside brackets and texts do not count."""
    parts, depth, start, quoted = [], 0, 0, False
    for at, sign in enumerate(arguments):
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(arguments[start:at].strip())
            start = at + 1
    return parts + [arguments[start:].strip()]


def bytes_of(argument):
    """All texts of an argument, one after the other: also those of a list of buffers."""
    found = b""
    for text, cut in TEXT.findall(argument):
        if cut:
            raise NotModelled(f"a text that strace cut: {argument[:80]}")
        found += bytes.fromhex(text.replace("\\x", ""))
    return found


def number_of(argument):
    return int(argument, 0) if re.fullmatch(r"-?\d+|0x[0-9a-f]+", argument) else None


def interpret(began, ended, name, arguments, result):
    """The events of one call: none if it failed, or changes nothing."""
    a = split(arguments)
    value = 0 if result == "?" else int(result, 0)

    def event(kind, **values):
        return [Event(kind, began, ended, values)]

    def path(at):
        return os.fsdecode(bytes_of(a[at]))

    def directory(at):
        return None if a[at] == "AT_FDCWD" else int(a[at])

    if (value < 0 or result == "?") and name != "exit_group":
        return []  # It failed, or the process died in it.
    match name:
        case "open" | "creat":
            flags = a[1] if name == "open" else "O_WRONLY|O_CREAT|O_TRUNC"
            return event("open", at=None, path=path(0), flags=flags, mode=int(a[-1], 8) if "O_CREAT" in flags else 0, fd=value)
        case "openat":
            mode = int(a[3], 8) if "O_CREAT" in a[2] or "O_TMPFILE" in a[2] else 0
            return event("open", at=directory(0), path=path(1), flags=a[2], mode=mode, fd=value)
        case "close":
            return event("close", fd=int(a[0]))
        case "read":
            return event("read", fd=int(a[0]), count=value)
        case "write" | "writev":
            return event("write", fd=int(a[0]), bytes=bytes_of(a[1])[:value], at=None)
        case "pwrite64" | "pwritev":
            return event("write", fd=int(a[0]), bytes=bytes_of(a[1])[:value], at=int(a[-1]))
        case "sendto" | "sendmsg":
            return event("write", fd=int(a[0]), bytes=bytes_of(a[1])[:value], at=None)
        case "ftruncate":
            return event("size", fd=int(a[0]), size=int(a[1]))
        case "fallocate":
            if a[1] != "0":
                raise NotModelled(f"fallocate with mode {a[1]}")
            return event("allocate", fd=int(a[0]), size=int(a[2]) + int(a[3]))
        case "lseek":
            return event("seek", fd=int(a[0]), to=value)
        case "mmap":
            fd = number_of(a[4])
            return event("map", fd=fd) if "MAP_SHARED" in a[3] and "PROT_WRITE" in a[2] and fd is not None and fd >= 0 else []
        case "rename":
            return event("rename", at=None, path=path(0), to_at=None, to=path(1))
        case "renameat" | "renameat2":
            if name == "renameat2" and a[4] not in ("0", "RENAME_NOREPLACE"):
                raise NotModelled(f"renameat2 with {a[4]}")
            return event("rename", at=directory(0), path=path(1), to_at=directory(2), to=path(3))
        case "link":
            return event("link", at=None, path=path(0), to_at=None, to=path(1))
        case "linkat":
            return event("link", at=directory(0), path=path(1), to_at=directory(2), to=path(3))
        case "unlink" | "rmdir":
            return event("unlink", at=None, path=path(0))
        case "unlinkat":
            return event("unlink", at=directory(0), path=path(1))
        case "mkdir":
            return event("mkdir", at=None, path=path(0), mode=int(a[1], 8))
        case "mkdirat":
            return event("mkdir", at=directory(0), path=path(1), mode=int(a[2], 8))
        case "fsync" | "fdatasync":
            return event("sync", fd=int(a[0]))
        case "sync" | "syncfs":
            return event("sync", fd=None)
        case "fchmod":
            return event("mode", fd=int(a[0]), mode=int(a[1], 8))
        case "chmod":
            return event("mode", fd=None, at=None, path=path(0), mode=int(a[1], 8))
        case "fchmodat" | "fchmodat2":
            return event("mode", fd=None, at=directory(0), path=path(1), mode=int(a[2], 8))
        case "dup" | "dup2" | "dup3":
            return event("duplicate", fd=int(a[0]), to=value)
        case "fcntl":
            return event("duplicate", fd=int(a[0]), to=value) if a[1].startswith("F_DUPFD") else []
        case "exit_group":
            return event("exit", status=int(a[0]))
        case "connect" | "sync_file_range" | "msync":
            return []  # The last two make nothing durable by themselves.
        case "sendmmsg" | "chdir":
            return event("elsewhere", name=name)
    raise NotModelled(f"{name}({arguments[:120]})")
