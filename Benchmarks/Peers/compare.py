# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Measures PeerRounds and MSAL Python alternately: compare.py PEER-ROUNDS IDENTITYCTL ROUNDS."""

import fcntl
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import peer
from store import fill

# What is done, how often by us and by them in one round, and how many times as fast we promise to be.
WORKS = [
    ("hit-memory-1", "silent hit from memory, 1 account", 20000, 2000, 20),
    ("subset-memory-1", "  of a part of the scopes", 20000, 1000, 20),
    ("subset-memory-1000", "  the same, 1,000 accounts", 20000, 20, 20),
    ("hit-file", "silent hit, unchanged file", 20000, 2000, 8),
    ("refresh-1", "a refresh saved, file, 1 account", 50, 10, None),
    ("refresh-1000", "a refresh saved, file, 1,000 accounts", 50, 1, None),
    ("remove-1000", "remove, file, 1,000 accounts", 20, 1, None),
]
SLOW_ROUNDS = 3  # Of the last three: theirs take seconds.


def process(command, environment=None, told=""):
    """A whole process, which is told something on its standard input: seconds of the processor, seconds on the clock."""
    reader, writer = os.pipe()
    os.write(writer, told.encode())
    os.close(writer)
    start = time.perf_counter()
    child = subprocess.Popen(command, stdin=reader, stdout=subprocess.DEVNULL, env=environment)
    os.close(reader)
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, elapsed


def memory(command):
    """The most memory a process had, in MiB: looked at while it waits to write its token into a pipe that is full.

    The rusage of a child says nothing below the size of its parent.
    """
    reader, writer = os.pipe()
    os.write(writer, bytes(fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)))
    child = subprocess.Popen(command, stdout=writer)
    os.close(writer)
    time.sleep(1)
    with open(f"/proc/{child.pid}/status") as status:
        peak = int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])
    with os.fdopen(reader, "rb") as pipe:
        pipe.read()
    assert child.wait() == 0, command
    return peak / 1024


def ways(identityctl, command, directory, number):
    """Other ways to the same token, each compared with `command` alternately: the title, milliseconds more on the clock."""
    environment = os.environ | {"XDG_CONFIG_HOME": os.path.join(directory, "config")}
    os.makedirs(os.path.join(environment["XDG_CONFIG_HOME"], "identityctl", "profiles"), mode=0o700)
    lines = [f"{name[2:]} = {value}" for name, value in zip(command[2::2], command[3::2])]
    path = os.path.join(environment["XDG_CONFIG_HOME"], "identityctl", "profiles", "work.conf")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("\n".join(lines + ["serves = https://git.example.test", ""]))
    socket = os.path.join(directory, "agent.sock")
    agent = subprocess.Popen([identityctl, "agent", "--socket", socket], env=environment)
    try:
        deadline = time.monotonic() + 10
        while not os.path.exists(socket) and time.monotonic() < deadline:
            time.sleep(0.01)
        by_agent = environment | {"IDENTITYCTL_AGENT": socket}
        named, asked = [identityctl, "token", "--profile", "work"], "protocol=https\nhost=git.example.test\n\n"
        for title, *call in [
            ("the options of a profile", named, environment),
            ("git's helper", [identityctl, "helper", "git", "get"], environment, asked),
            ("from the agent", named, by_agent),
            ("git's helper, from the agent", [identityctl, "helper", "git", "get"], by_agent, asked),
        ]:
            check = subprocess.run(call[0], env=call[1], input="".join(call[2:]), capture_output=True, text=True, check=True)
            assert peer.TOKEN in check.stdout, check.stderr
            differences, clocks = [], []
            for _ in range(20 * number):
                clock = process(*call)[1]
                clocks.append(clock)
                differences.append(clock - process(command)[1])
            yield title, statistics.median(clocks) * 1e3, statistics.median(differences) * 1e3
    finally:
        agent.terminate()
        agent.wait()


def counts(rounds, work, times):
    """What the system is asked for by so many calls, less what the preparation asks for."""
    def calls(times):
        with tempfile.NamedTemporaryFile("r") as log:
            command = ["strace", "-f", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2,unlinkat", "-o", log.name]
            subprocess.run(command + [rounds], input=f"{work} {times}\n", text=True, stdout=subprocess.DEVNULL, check=True)
            text = log.read()
        return [
            len(re.findall(pattern, text, re.M)) for pattern in
            [r"fsync\(\d+<[^>]*/\.new-", r"fsync\(\d+<(?![^>]*/\.new-)", r"rename.*\"account-.*= 0", r"rename.*\"lease-.*= 0",
             r"unlinkat.*\"account-.*= 0"]]
    return [(many - one) / (times - 1) for many, one in zip(calls(times), calls(1))]


def main():
    rounds, identityctl, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    broken = []
    ours = subprocess.Popen([rounds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def our_round(work, times):
        ours.stdin.write(f"{work} {times}\n")
        ours.stdin.flush()
        return [int(word) / 1e3 for word in ours.stdout.readline().split()]

    print(f"{'µs, median of the rounds':42}{'ours':>18}{'MSAL Python':>20}{'times as fast':>16}")
    print(f"{'':42}{'CPU':>9}{'clock':>9}{'CPU':>10}{'clock':>10}{'CPU':>8}{'clock':>8}")
    with tempfile.TemporaryDirectory() as directory:
        theirs = peer.works(directory)
        for work, title, our_times, their_times, promise in WORKS:
            run, mine, yours = theirs[work](), [], []
            run()
            for _ in range(number if promise else min(number, SLOW_ROUNDS)):
                mine.append(our_round(work, our_times))
                start = time.process_time(), time.perf_counter()
                for _ in range(their_times):
                    run()
                end = time.process_time(), time.perf_counter()
                yours.append([(b - a) * 1e6 / their_times for a, b in zip(start, end)])
            a, b = ([statistics.median(column) for column in zip(*side)] for side in (mine, yours))
            # Neighbours in time are compared: both had the same machine.
            ratios = [statistics.median(y[i] / m[i] for m, y in zip(mine, yours)) for i in (0, 1)]
            print(f"{title:42}{a[0]:9.2f}{a[1]:9.2f}{b[0]:10.1f}{b[1]:10.1f}{ratios[0]:8.0f}{ratios[1]:8.0f}")
            if promise and ratios[0] < promise:
                broken.append(f"{title}: {ratios[0]:.1f} times as fast, promised {promise}")
        ours.stdin.close()
        ours.wait()

        command = [identityctl] + fill(os.path.join(directory, "identityctl"))
        peer.file_cache(os.path.join(directory, "token"), 1)
        script = [sys.executable, os.path.join(os.path.dirname(__file__), "peer.py"), os.path.join(directory, "token")]
        mine, yours = [], []
        for _ in range(number):
            mine += [process(command) for _ in range(20)]
            yours.append(process(script))
        a, b = ([statistics.median(column) for column in zip(*side)] for side in (mine, yours))
        print(f"{'a token, whole process':42}{a[0] * 1e6:9.0f}{a[1] * 1e6:9.0f}{b[0] * 1e6:10.0f}{b[1] * 1e6:10.0f}"
              f"{b[0] / a[0]:8.0f}{b[1] / a[1]:8.0f}")
        for title, clock, more in ways(identityctl, command, directory, number):
            print(f"{'  ' + title:42}{'':9}{clock * 1e3:9.0f}   ({more:+.2f} ms)")
        print(f"{'  memory, MiB':42}{memory(command):9.1f}{'':9}{memory(script):10.1f}")

    print("\nEach call of ours asks the system for")
    for work, title, times in [("refresh-1", "a refresh saved, 1 account", 21), ("refresh-1000", "a refresh saved, 1,000 accounts", 21),
                               ("remove-1000", "remove, 1,000 accounts", 21)]:
        files, directories, records, leases, removals = counts(rounds, work, times)
        print(f"  {title:34} file syncs {files:g}, directory syncs {directories:g}, records renamed {records:g}, "
              f"leases renamed {leases:g}, records removed {removals:g}")
        # A removal also remembers that somebody signed out, so that the next sign-in asks.
        expected = (1, 2, 0, 1) if work.startswith("remove") else (1, 1, 1, 0)
        if (files, directories, records, removals) != expected:
            broken.append(f"{title}: more or fewer writes than it takes")

    for line in broken:
        print("BROKEN:", line, file=sys.stderr)
    sys.exit(1 if broken else 0)


main()
