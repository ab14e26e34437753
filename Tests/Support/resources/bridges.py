# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""bridges.py peer IDENTITYCTL URL [breaks]: speaks with a server through a bridge, as the Python SDK's client, in both revisions.
bridges.py crowd IDENTITYCTL URL: starts twenty bridges at a server that the person never signed in to.
bridges.py kill IDENTITYCTL URL SECONDS: ends bridges at random moments.
bridges.py sleep IDENTITYCTL URL LIBRARY: stops ten bridges, steps their clocks by two days, and lets them go on.
bridges.py time IDENTITYCTL URL: measures the first answer of a bridge beside the server's own, and its memory.
"""
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

job, PROGRAM, URL = sys.argv[1:4]
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}


def bridge(**more):
    return subprocess.Popen([PROGRAM, "mcp", URL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)


def send(process, message):
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def result(process):
    """Returns the result in the next answer."""
    while True:
        message = json.loads(process.stdout.readline())
        if "method" not in message:
            assert "result" in message, message
            return message["result"]


def end(process):
    process.stdin.close()
    assert process.wait(10) == 0


def left(name="mcp"):
    """The processes of bridges that are still there, with their command lines."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{number}/cmdline", "rb").read().split(b"\0")
        except OSError:
            continue
        if len(words) > 2 and words[1] == name.encode() and URL.encode() in words:
            found.append((number, words))
    return found


def wait_until_none_is_left():
    deadline = time.monotonic() + 15
    while left():
        assert time.monotonic() < deadline, left()
        time.sleep(0.05)


async def speak(mode, breaks):
    import anyio
    from mcp import types
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def agree(context, params):
        return types.ElicitResult(action="accept", content={"word": "please"})

    def text(answer):
        return answer.content[0].text

    parameters = StdioServerParameters(command=PROGRAM, args=["mcp", URL], env=dict(os.environ))
    async with Client(stdio_client(parameters), mode=mode, elicitation_callback=agree) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"called", "counts", "asks"} <= names, names
        assert text(await client.call_tool("called")) == "called"
        steps = []

        async def note(progress, total, message):
            steps.append(progress)

        assert text(await client.call_tool("counts", progress_callback=note)) == "counted" and steps == [1, 2, 3], steps
        if mode == "legacy":
            assert text(await client.call_tool("asks")) == "please"
        before = int(text(await client.call_tool("ends")))
        with anyio.move_on_after(0.5):
            await client.call_tool("waits")
        with anyio.fail_after(10):
            while int(text(await client.call_tool("ends"))) == before:
                await anyio.sleep(0.05)
        if breaks and mode == "legacy":
            assert text(await client.call_tool("breaks")) == "whole"
    print(f"    {mode}: tools, progress, cancellation" + (", a question" if mode == "legacy" else "")
          + (", a resumed answer" if breaks and mode == "legacy" else ""))


def peer(breaks=""):
    import anyio

    for mode in ("legacy", "2026-07-28"):
        anyio.run(speak, mode, breaks)
    wait_until_none_is_left()


def crowd():
    running = [bridge() for _ in range(20)]
    for process in running:
        send(process, REQUEST)
    for process in running:
        assert result(process)["serverInfo"]
        send(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    for process in running:
        assert [tool["name"] for tool in result(process)["tools"]] == ["sign_in"]
    for process in running:
        send(process, {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "sign_in", "arguments": {}}})
    for process in running:
        answer = result(process)
        assert not answer.get("isError"), answer
        end(process)
    wait_until_none_is_left()
    print("    twenty bridges sign in at once")


def kill(seconds):
    chance = random.Random(7)
    deadline = time.monotonic() + float(seconds)
    count = 0
    with tempfile.TemporaryFile() as errors:
        while time.monotonic() < deadline:
            running = [bridge(stderr=errors) for _ in range(3)]
            for process in running:
                send(process, REQUEST)
            for process in running:
                time.sleep(chance.random() * 0.4)
                process.kill()
                process.wait()
                process.stdin.close()
                process.stdout.close()
                count += 1
        last = bridge(stderr=errors)
        send(last, REQUEST)
        result(last)
        end(last)
        errors.seek(0)
        told = errors.read().decode()
        assert "has to sign in" not in told, told
    wait_until_none_is_left()
    print(f"    {count} bridges killed in {seconds} s")


def sleep(library):
    with tempfile.NamedTemporaryFile("w") as offset:
        environment = dict(os.environ, LD_PRELOAD=library, CLOCK_OFFSET_FILE=offset.name)
        running = [bridge(env=environment) for _ in range(10)]
        for process in running:
            send(process, REQUEST)
            result(process)
        for process in running:
            process.send_signal(signal.SIGSTOP)
        offset.write(str(2 * 86_400))
        offset.flush()
        for process in running:
            process.send_signal(signal.SIGCONT)
        for process in running:
            send(process, dict(REQUEST, id=2))
        for process in running:
            result(process)
        for process in running:
            end(process)
    wait_until_none_is_left()
    print("    ten bridges slept for two days")


def measure():
    token = subprocess.run(
        [PROGRAM, "token", "--resource", URL], capture_output=True, text=True, check=True
    ).stdout.strip()
    body = json.dumps(REQUEST).encode()
    own, through, memory, private = [], [], 0, 0
    for _ in range(20):
        began = time.perf_counter()
        request = urllib.request.Request(URL, body, {
            "Authorization": "Bearer " + token, "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()
        own.append(time.perf_counter() - began)
        began = time.perf_counter()
        process = bridge()
        send(process, REQUEST)
        result(process)
        through.append(time.perf_counter() - began)
        for number in range(2, 12):
            send(process, {"jsonrpc": "2.0", "id": number, "method": "tools/list"})
            result(process)
        status = open(f"/proc/{process.pid}/status", encoding="utf-8").read()
        memory = max(memory, int(status.split("VmHWM:")[1].split()[0]))
        private = max(private, int(status.split("RssAnon:")[1].split()[0]))
        end(process)
    for name, times in (("the server", own), ("a bridge, with its start", through)):
        print(f"    first answer of {name}: {statistics.median(times) * 1000:.1f} ms, at best {min(times) * 1000:.1f} ms")
    print(f"    memory: {memory / 1024:.1f} MiB, of which its own {private / 1024:.1f} MiB")


{"peer": peer, "crowd": crowd, "kill": kill, "sleep": sleep, "time": measure}[job](*sys.argv[4:])
