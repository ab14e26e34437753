# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""What `identityctl mcp` costs beside a direct connection: bridge.py IDENTITYCTL.

The server and the client are Python's, without TLS, and both ways are measured in turns. The processor time of the bridge and its
memory do not depend on them.
"""

import http.client
import http.server
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from store import fill

LARGE, LARGEST = 5_000_000, 16 * 1024 * 1024 - 1000
# A large request at most as a multiple of a large answer, in processor time; the peak of memory after the largest messages.
LIMITS = {"request": 2, "mebibytes": 160}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 65536, True

    def log_message(self, *_):
        pass

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = b""
        if "id" in message:
            text = "x" * message.get("params", {}).get("wanted", 0)
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"text": text}}).encode()
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_DELETE = do_GET


def message(**params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


class Direct:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def call(self, text):
        self.connection.request("POST", "/mcp", text, {"Content-Type": "application/json"})
        return self.connection.getresponse().read()


class Bridge:
    def __init__(self, program, address, environment):
        self.process = subprocess.Popen([program, "mcp", "--profile", "bench", address], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, text):
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert b'"result"' in answer[:200], answer[:500]
        return answer

    def seconds(self):
        """The processor time so far."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak(self):
        return next(int(line.split()[1]) / 1024 for line in open(f"/proc/{self.process.pid}/status") if "VmHWM" in line)

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0


def timed(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turns(title, number, *calls):
    times = [[] for _ in calls]
    for _ in range(number):
        for own, call in zip(times, calls):
            own.append(timed(call))
    direct, bridge = [statistics.median(own) * 1e3 for own in times]
    print(f"{title:20}{direct:9.2f} ms direct{bridge:9.2f} ms through the bridge: {bridge / direct:.1f}")


def main():
    program, over = sys.argv[1], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    address = f"http://127.0.0.1:{port}/mcp"
    with tempfile.TemporaryDirectory() as directory:
        environment = {"HOME": directory, "PATH": os.environ["PATH"], "IDENTITYCTL_SIGN_IN": "never"}
        options = fill(os.path.join(directory, "tokens"))[1:]
        subprocess.run([program, "profile", "add", "bench", *options, "--serves", address], env=environment, check=True,
                       capture_output=True)

        def start(make):
            other = make()
            other.call(message())
            return other

        others = []
        in_turns("start", 10, lambda: start(lambda: Direct(port)),
                 lambda: others.append(start(lambda: Bridge(program, address, environment))))
        for other in others:
            other.end()
        direct, bridge = Direct(port), Bridge(program, address, environment)
        in_turns("a message", 300, lambda: direct.call(message()), lambda: bridge.call(message()))
        request, answer = message(text="y" * LARGE), message(wanted=LARGE)
        in_turns("a request of 5 MB", 5, lambda: direct.call(request), lambda: bridge.call(request))
        in_turns("an answer of 5 MB", 5, lambda: direct.call(answer), lambda: bridge.call(answer))
        costs = []
        for text in (request, answer):
            before = bridge.seconds()
            for _ in range(10):
                bridge.call(text)
            costs.append((bridge.seconds() - before) / 10)
        print(f"processor time of the bridge: {costs[0] * 1e3:.0f} ms for the request, {costs[1] * 1e3:.0f} ms for the answer")
        bridge.call(message(text="y" * LARGEST))
        bridge.call(message(wanted=LARGEST))
        print(f"peak of memory after 16 MiB each way: {bridge.peak():.0f} MiB")
        if costs[0] > LIMITS["request"] * costs[1]:
            over.append(f"a request costs more than {LIMITS['request']} answers")
        if bridge.peak() > LIMITS["mebibytes"]:
            over.append(f"more than {LIMITS['mebibytes']} MiB")
        bridge.end()
    if over:
        sys.exit(f"ERROR: {' and '.join(over)}")


if __name__ == "__main__":
    main()
