# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Compares PeerRounds with the marks: marks.py PEER-ROUNDS MARKS [--set] [WORK-PREFIX...].

A mark is how many times as long a call takes as the calibration, both measured in turns in one run, the least of all
rounds of each. A slow machine slows both down. Fails when a call takes more than its tolerance times its mark.
"""

import json
import subprocess
import sys

ROUNDS = 25
TOLERANCE = 1.3
# A hit from a file took 1.32 times its mark at the revision that the check has to catch; its ratios move by 4 %.
TOLERANCES = {"hit-file": 1.25}
TIMES = {"proof": 1000}  # of one round, 20,000 of the others


def main():
    rounds, path, *rest = sys.argv[1:]
    setting = "--set" in rest
    prefixes = tuple(word for word in rest if word != "--set")
    with open(path) as file:
        marks = json.load(file)
    works = [work for work in marks if not prefixes or work.startswith(prefixes)]
    if not works:
        sys.exit(f"no mark begins with {' or '.join(prefixes)}; there are {', '.join(marks)}")
    process = subprocess.Popen([rounds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(work):
        """The nanoseconds that one call computes."""
        process.stdin.write(f"{work} {TIMES.get(work, 20000)}\n")
        process.stdin.flush()
        return int(process.stdout.readline().split()[0])

    least = {}
    for number in range(ROUNDS + 1):
        for work in ["calibration"] + works:
            time = measure(work)
            if number:  # the first round warms up
                least[work] = min(time, least.get(work, time))
    process.stdin.close()
    process.wait()

    slower = []
    print(f"calibration: {least['calibration']} ns\n{'':22}{'ns':>9}{'ratio':>9}{'mark':>9}{'of the mark':>13}")
    for work in works:
        ratio = least[work] / least["calibration"]
        print(f"{work:22}{least[work]:9}{ratio:9.2f}{marks[work]:9.2f}{ratio / marks[work]:12.0%}")
        tolerance = TOLERANCES.get(work, TOLERANCE)
        if ratio > marks[work] * tolerance:
            slower.append(f"{work} (more than {tolerance - 1:.0%})")
        marks[work] = round(ratio, 2) if setting else marks[work]
    if setting:
        with open(path, "w") as file:
            json.dump(marks, file, indent=2)
            file.write("\n")
    elif slower:
        sys.exit(f"SLOWER than the mark: {', '.join(slower)}")


main()
