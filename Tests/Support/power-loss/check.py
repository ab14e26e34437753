# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Checks every disk that a power loss could leave. See Scripts/test-power-loss."""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

import calls
import scenarios
from disk import Disk
from provider import Provider


def fresh(root):
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("", "/home", "/run"):
        os.makedirs(root + folder, 0o700)


def prepare(scenario, tool):
    """An empty home, and what is to be there before the recorded command."""
    fresh(tool.root)
    tool.provider.next = 0
    for arguments, text in scenario.before:
        result = tool.run(arguments, scenario.variables, text)
        if result.returncode != 0:
            raise SystemExit(f"{scenario.name}: {arguments}: {scenarios.broken(result)}")


def recorded(scenario, tool, trace, dies_at=None):
    """Runs the command of a scenario under strace; it is killed at that sync, if one is named."""
    environment = {name: value for name, value in tool.environment(scenario.variables).items() if value != ""}
    command = tool.command(scenario.command)
    if scenario.ends_after:
        command = ["/usr/bin/timeout", "--foreground", "--preserve-status", "-s", "TERM", str(scenario.ends_after)] + command
    inject = f"inject=fsync:signal=KILL:when={dies_at}" if dies_at else None
    result = calls.record(command, environment, trace, scenario.text, inject)
    if result.returncode not in ((0, -9, 137) if dies_at else (0,)):
        raise SystemExit(f"{scenario.name}: {scenarios.broken(result)}")
    return result.returncode == 0


class Check:
    def __init__(self, scenario, program, base, workers, ignores):
        self.scenario, self.program, self.base, self.ignores = scenario, program, base, ignores
        self.provider = Provider(scenario.lifetime)
        self.root = f"{base}/root-r"
        self.workers = workers
        self.found = {}  # the digest of a disk to (disk, the sets of labels allowed where it can arise, each with its call)
        self.counts = collections.Counter()

    def run(self):
        tool = scenarios.Tool(self.program, self.provider, self.root)
        # Once; or after a process that did the same was killed at its first sync, at its second, and so on.
        for dies_at in itertools.count(1) if self.scenario.is_heir else [None]:
            prepare(self.scenario, tool)
            disk = Disk(self.root)
            if not self.record(tool, disk, dies_at):
                break
        self.provider.forgives = True
        wrong = self.ask()
        self.provider.close()
        return wrong

    def record(self, tool, disk, dies_at):
        """Records the command; returns whether the process before it was killed, if there is one."""
        trace, moment, length = f"{self.base}/trace", scenarios.Moment(), 0
        if dies_at:
            if recorded(self.scenario, tool, trace, dies_at):
                return False
            moment, length = self.collect(disk, calls.events(trace), moment)
            disk.open.clear()
            self.counts["deaths"] += 1
            if moment.sent >= self.scenario.newest(disk.current()):
                return True  # Its answer died with it: the next process can only send the same token again.
        recorded(self.scenario, tool, trace)
        self.collect(disk, calls.events(trace), moment, length)
        real = Disk(self.root).current()
        if real != disk.current():
            difference = self.difference(real, disk.current())
            raise SystemExit(f"{self.scenario.name}: the model is not what the calls made: {difference}")
        return True

    @staticmethod
    def difference(real, model):
        return "; ".join(f"{path}: {str(real.get(path))[:80]} / {str(model.get(path))[:80]}" for path in sorted(set(real) | set(model)) if real.get(path) != model.get(path))

    def collect(self, disk, events, moment, begin=0):
        """Notes each disk after each call, with what is allowed then. Returns what is known at the end, and its time."""
        self.note(disk, self.scenario.allowed(moment), "the begin")
        for event in events:
            event.began, event.ended = event.began + begin, event.ended + begin
        for event in sorted(events, key=lambda event: event.began if event.kind in ("exit", "write") else event.ended):
            if event.kind == "sync" and self.forgets(disk, event):
                continue
            touched = disk.apply(event)
            allowed = None
            if event.kind in ("exit", "write") and not (touched and self.is_store(disk, event)):
                later = moment.after(event, self.scenario)
                if later.sent > moment.sent and later.sent >= 1:
                    # Nothing that was sent before may come back once this one is spent as well.
                    self.note(disk, {f"RT.{later.sent}"}, f"the request with RT.{later.sent}")
                if later != moment:
                    moment, allowed = later, self.scenario.allowed(later)
            if touched or allowed:
                self.counts["calls"] += touched
                values = {name: value for name, value in event.values.items() if name in ("path", "to", "fd", "size")}
                self.note(disk, allowed or self.scenario.allowed(moment), f"{event.kind} {values}")
        return moment, max(event.ended for event in events) + 1

    def is_store(self, disk, event):
        """Whether a write went to the store itself, not to a file that is an answer for others."""
        description = disk.open.get(event.values.get("fd"))
        return description is not None and description["inode"] not in disk.top.now()[0].values()

    def forgets(self, disk, event):
        """Planted mistakes: a sync of the recorded ones that is left out."""
        description = disk.open.get(event.values["fd"])
        if description is None:
            return False
        return self.ignores == "all" or self.ignores == ("directory" if description["inode"].is_directory else "file")

    def note(self, disk, allowed, where):
        for state in disk.after_crash():
            self.counts["states"] += 1
            digest = hashlib.sha256(repr(sorted(state.items())).encode()).digest()
            self.found.setdefault(digest, (state, {}))[1].setdefault(frozenset(allowed), where)
        self.counts["bounded"], disk.bounded = self.counts["bounded"] + disk.bounded, 0

    def ask(self):
        """Asks the tool about each disk; returns what it may not say."""
        free = collections.deque(f"{self.base}/root-{number}" for number in range(self.workers))

        def one(entry):
            state, allowed = entry
            root = free.popleft()
            try:
                self.make(state, root)
                try:
                    label = self.scenario.label(scenarios.Tool(self.program, self.provider, root), self.scenario)
                except subprocess.TimeoutExpired:
                    label = f"broken: no answer within {scenarios.PATIENCE} s"
                return label, [(where, set(labels)) for labels, where in allowed.items() if label not in labels], state
            finally:
                free.append(root)

        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            answers = list(pool.map(one, self.found.values()))
        self.labels = collections.Counter(label if not label.startswith("broken") else "broken" for label, _, _ in answers)
        return [answer for answer in answers if answer[1]]

    def make(self, state, root):
        """Puts a disk into a directory."""
        shutil.rmtree(root, ignore_errors=True)
        for path, (kind, mode, content) in sorted(state.items()):
            place = os.path.normpath(os.path.join(root, path))
            if kind == "d":
                os.makedirs(place, 0o700, exist_ok=True)
            else:
                with open(place, "wb") as file:
                    file.write(content)
            os.chmod(place, mode)


def main():
    parser = argparse.ArgumentParser(prog="Scripts/test-power-loss", allow_abbrev=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--image", metavar="FILE_SYSTEM")
    parser.add_argument("--only", metavar="NAME")
    parser.add_argument("--without-sync", choices=("all", "file", "directory"))
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    names = [options.only] if options.only else [s.name for s in scenarios.ALL] if options.all else scenarios.SHORT
    wanted = [scenario for scenario in scenarios.ALL if scenario.name in names]
    if not wanted:
        parser.error(f"there is no {options.only}: {' '.join(s.name for s in scenarios.ALL)}")
    if options.image:
        import image
        return image.main(wanted, options)
    began, failed, states = time.monotonic(), 0, 0
    base = tempfile.mkdtemp(prefix="power-loss-")
    try:
        for scenario in wanted:
            check = Check(scenario, options.program, base, max(2, os.cpu_count() or 2), options.without_sync)
            wrong = check.run()
            states += len(check.found)
            bounded = f", {check.counts['bounded']} times bounded" if check.counts["bounded"] else ""
            print(f"POWER {scenario.name}: {check.counts['calls']} calls, {check.counts['states']} crashes, "
                  f"{len(check.found)} different disks{bounded}: "
                  + ", ".join(f"{count} {label}" for label, count in sorted(check.labels.items())), flush=True)
            failed += len(wrong)
            for label, places, state in wrong[:5]:
                print(f"  WRONG: '{label}' at {places[0][0]}, where only {sorted(places[0][1])} may be", file=sys.stderr)
                for path, (_, mode, content) in sorted(state.items()):
                    print(f"    {path} {oct(mode)} {'' if content is None else content[:60]}", file=sys.stderr)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"POWER: {states} disks asked in {time.monotonic() - began:.0f} s, {failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
