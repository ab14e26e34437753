# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""What the start of a process costs, in counts that do not depend on the machine: starts.py IDENTITYCTL [OTHER [CALLS]].

Each way to a token is counted: the instructions of the program (callgrind), its page faults, its threads and its futex calls.
With OTHER, another build of identityctl, that is counted too, and both are timed alternately.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from store import fill

# What a token from a file may cost at most. Of page faults 350 are wanted.
LIMITS = {"instructions": 5_000_000, "threads": 1}


def faults(command, environment):
    """The median of eleven runs."""
    counts = []
    for _ in range(11):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0, command
        counts.append(usage.ru_minflt)
    return int(statistics.median(counts))


def instructions(command, environment):
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        said = subprocess.run(tool + command, env=environment, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", said)[1])


def calls(command, environment):
    """The threads, the first one included, and the futex calls."""
    with tempfile.NamedTemporaryFile("r") as log:
        tool = ["strace", "-f", "-e", "trace=clone,clone3,futex", "-o", log.name]
        subprocess.run(tool + command, env=environment, stdout=subprocess.DEVNULL, check=True)
        text = log.read()
    return 1 + len(re.findall(r"clone3?\(.*= \d+$|clone3? resumed.*= \d+$", text, re.M)), len(re.findall(r" futex\(", text))


def seconds(programs, arguments, environment, number):
    """The medians of each program's time on the clock, in turns."""
    times = [[] for _ in programs]
    for _ in range(number):
        for own, program in zip(times, programs):
            start = time.perf_counter()
            subprocess.run([program] + arguments, env=environment, stdout=subprocess.DEVNULL, check=True)
            own.append(time.perf_counter() - start)
    return [statistics.median(own) for own in times]


def main():
    programs, number = sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 200
    over = []
    with tempfile.TemporaryDirectory() as directory:
        arguments = fill(os.path.join(directory, "tokens"))
        environment = os.environ | {"HOME": directory, "XDG_CONFIG_HOME": directory, "XDG_STATE_HOME": directory}
        socket = os.path.join(directory, "agent.sock")
        profile = [f"--{name[2:]}={value}" for name, value in zip(arguments[1::2], arguments[2::2])]
        agent = subprocess.Popen([programs[0], "agent", "--socket", socket] + profile, env=environment)
        try:
            while not os.path.exists(socket) and agent.poll() is None:
                time.sleep(0.01)
            by_agent = environment | {"IDENTITYCTL_AGENT": socket}
            for title, words, variables in [
                ("a token from a file", arguments, environment),
                ("a token from the agent", ["token"], by_agent),
                ("the version", ["--version"], environment),
            ]:
                for program in programs:
                    threads, futexes = calls([program] + words, variables)
                    count = {
                        "instructions": instructions([program] + words, variables),
                        "faults": faults([program] + words, variables), "threads": threads,
                    }
                    print(f"{title:24}{count['instructions'] / 1e6:7.2f} million instructions{count['faults']:6} page faults"
                          f"{threads:4} threads{futexes:5} futex calls   {program}")
                    if program == programs[0] and title == "a token from a file":
                        over = [f"{limit} {name}" for name, limit in LIMITS.items() if count[name] > limit]
                if len(programs) > 1:
                    new, old = seconds(programs, words, variables, number)
                    print(f"{title:24}{new * 1e3:7.2f} ms, in turns with {old * 1e3:.2f} ms: {new / old:.3f}")
        finally:
            agent.terminate()
            agent.wait()
    if over:
        sys.exit(f"ERROR: more than {' and '.join(over)}")


if __name__ == "__main__":
    main()
