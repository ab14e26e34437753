# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""agent-load.py CLIENTS ROUNDS SOCKET KIND [ACCOUNT]: how long an agent takes if that many clients ask at once.

Each round, all clients connect and send their request before any answer is read; one loop with epoll waits for all of them, so
that no client waits for another one to start. KIND is identityctl or oidc (a JSON object on a connection of its own; ACCOUNT is
the profile or the account), or ssh (the list of keys, on connections that stay). Prints the median, the 99th percentile and the
longest time from a client's connect to its whole answer, in milliseconds, and the share of the time that this program itself
was busy: near 1, it measures itself.
"""
import json
import select
import socket
import struct
import sys
import time

SSH_LIST = struct.pack(">IB", 1, 11)


def request(kind, account):
    if kind == "ssh":
        return SSH_LIST
    wanted = {"request": "access_token", "account": account, "min_valid_period": 0, "application_hint": "load"}
    return json.dumps(wanted).encode()


def is_whole(kind, answer):
    if kind == "ssh":
        return len(answer) >= 5 and len(answer) >= 4 + struct.unpack(">I", answer[:4])[0]
    return answer.rstrip(b"\0\n ").endswith(b"}")


def is_right(kind, answer):
    return answer[4] == 12 if kind == "ssh" else b"access_token" in answer


def one_round(clients, path, kind, message, kept):
    poll, waiting, times = select.epoll(), {}, []
    for number in range(clients):
        begin = time.perf_counter()
        client = kept[number] if kept else socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if not kept:
            client.connect(path)
        client.send(message)
        waiting[client.fileno()] = [client, begin, b""]
        poll.register(client, select.EPOLLIN)
    while waiting:
        ready = poll.poll(10)
        if not ready:
            raise SystemExit(f"{len(waiting)} clients have no answer after ten seconds")
        for descriptor, _ in ready:
            entry = waiting[descriptor]
            entry[2] += entry[0].recv(1 << 16)
            if not is_whole(kind, entry[2]):
                continue
            times.append(time.perf_counter() - entry[1])
            if not is_right(kind, entry[2]):
                raise SystemExit(f"an answer without a token: {entry[2][:200]}")
            poll.unregister(descriptor)
            del waiting[descriptor]
            if not kept:
                entry[0].close()
    return times


def main():
    clients, rounds, path, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    message = request(kind, sys.argv[5] if len(sys.argv) > 5 else "default")
    kept = []
    if kind == "ssh":
        for _ in range(clients):
            kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            kept[-1].connect(path)
    one_round(clients, path, kind, message, kept)  # not measured
    times, begin, busy = [], time.perf_counter(), time.process_time()
    for _ in range(rounds):
        times += one_round(clients, path, kind, message, kept)
    busy = (time.process_time() - busy) / (time.perf_counter() - begin)
    times = sorted(1000 * value for value in times)
    print(f"{kind}: {clients} clients at once, {len(times)} answers: median {times[len(times) // 2]:.2f} ms, "
          f"p99 {times[len(times) * 99 // 100]:.2f} ms, longest {times[-1]:.2f} ms, client busy {busy:.0%}")
    return times[len(times) * 99 // 100]


if __name__ == "__main__":
    main()
