# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The same on a real file system: the tool is killed at a call, and the disk is copied as it is then, without a sync.

The file system lies in a file and is mounted from it. What it has not yet written to that file is lost in the copy, as it is
when the power goes; the copy is then mounted, which replays its journal, and the tool is asked. Needs root and loop devices.
"""
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import time

import calls
import scenarios
from check import fresh, prepare
from provider import Provider

# The calls at which the tool is killed, each at its first, second and later use by a thread, until one run is not killed.
KILLED_AT = "write fallocate ftruncate fsync rename renameat unlink unlinkat link linkat mkdir exit_group".split()
# Nothing is written back but for a sync: the journal is committed every ten minutes.
KINDS = {
    "ext4": (["mkfs.ext4", "-q", "-F", "-O", "^metadata_csum_seed"], 16, "commit=600"),
    "ext4-writeback": (["mkfs.ext4", "-q", "-F"], 16, "commit=600,data=writeback"),
    "btrfs": (["mkfs.btrfs", "-q", "-f", "--mixed"], 64, "commit=300"),
}


def quietly(*command):
    subprocess.run(command, check=True, capture_output=True, timeout=60)


class Image:
    def __init__(self, kind, base):
        self.make, self.megabytes, self.options = KINDS[kind]
        self.file, self.copy, self.place = f"{base}/disk", f"{base}/copy", f"{base}/mounted"
        os.mkdir(self.place)

    def format(self):
        with open(self.file, "wb") as file:
            file.truncate(self.megabytes << 20)
        quietly(*self.make, self.file)

    def mount(self, file):
        quietly("mount", "-o", f"loop,{self.options}", file, self.place)

    def unmount(self):
        quietly("umount", self.place)


def wanted_moment(scenario, tool, killed, output, errors):
    """What others know when the power goes: what the provider was asked, and what the tool has printed."""
    moment = scenarios.Moment(done=not killed or bool(scenario.done and scenario.done.encode() in errors + output))
    for form in tool.provider.requests:
        if "code" in form:
            moment.code = True
        if form.get("refresh_token", "").startswith("RT."):
            moment.sent = max(moment.sent, int(form["refresh_token"][3:]))
    moment.given = max([0] + [int(number) for number in scenarios.GIVEN.findall(output)])
    return moment


def one(scenario, image, program, provider, call, count, without_sync):
    """Returns whether the tool was killed, what it finds afterwards, and what it may find."""
    tool = scenarios.Tool(program, provider, f"{image.place}/home")
    provider.forgives, provider.ended = False, False
    image.mount(image.file)
    try:
        prepare(scenario, tool)
        os.sync()
        provider.requests.clear()
        injected = [f"inject={call}:signal=KILL:when={count}"]
        if without_sync:
            injected = ["inject=fsync,fdatasync:retval=0"] + ([] if call == "fsync" else injected)
        command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace=fsync,fdatasync,{call}"]
        for text in injected:
            command += ["-e", text]
        environment = {name: value for name, value in tool.environment(scenario.variables).items() if value != ""}
        run = subprocess.run(
            command + ["--"] + tool.command(scenario.command), env=environment, input=scenario.text, capture_output=True,
            timeout=60, cwd="/",
        )
        killed = run.returncode in (-9, 137)
        if not killed and run.returncode != 0:
            raise SystemExit(f"{scenario.name}: {scenarios.broken(run)}")
        shutil.copyfile(image.file, image.copy)
        moment = wanted_moment(scenario, tool, killed, run.stdout, run.stderr)
    finally:
        image.unmount()
    image.mount(image.copy)
    try:
        provider.forgives = True
        label = scenario.label(tool, scenario)
    finally:
        image.unmount()
    return killed, label, scenario.allowed(moment)


def main(wanted, options):
    if options.image not in KINDS:
        raise SystemExit(f"ERROR: no image of {options.image}: {' '.join(KINDS)}")
    if os.geteuid() != 0 or not os.path.exists("/dev/loop-control"):
        print("SKIPPED: an image needs root and loop devices", file=sys.stderr)
        return 0
    began, failed, deaths = time.monotonic(), 0, 0
    base = tempfile.mkdtemp(prefix="power-image-")
    image = Image(options.image, base)
    try:
        for scenario in wanted:
            if scenario.ends_after or scenario.command[0] == "login":
                continue  # A browser would be killed as well; the import stores the same.
            provider = Provider(scenario.lifetime)
            image.format()
            labels, places = collections.Counter(), 0
            for call in KILLED_AT:
                for count in range(1, 60):
                    killed, label, allowed = one(scenario, image, options.program, provider, call, count, options.without_sync)
                    labels[label] += 1
                    places += killed
                    if label not in allowed:
                        failed += 1
                        where = f"a death at {call} {count}"
                        print(f"  WRONG: '{label}' after {where}, where only {sorted(allowed)} may be", file=sys.stderr)
                    if not killed:
                        break
            provider.close()
            deaths += places
            print(f"IMAGE {options.image} {scenario.name}: {places} deaths: "
                  + ", ".join(f"{count} {label}" for label, count in sorted(labels.items())), flush=True)
    finally:
        subprocess.run(["umount", "-q", image.place], check=False)
        shutil.rmtree(base, ignore_errors=True)
    print(f"IMAGE {options.image}: {deaths} deaths in {time.monotonic() - began:.0f} s, {failed} wrong")
    return 1 if failed else 0
