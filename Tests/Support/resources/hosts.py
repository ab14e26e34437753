# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""hosts.py IDENTITYCTL URL: has 'identityctl integrate' write the entry of each AI program, reads it from the program's file
as its documentation says, and has the Python SDK's client, and fastmcp's, start exactly that, with the variables that the
program gives a server and no others.
"""
import json
import os
import subprocess
import sys
import tomllib

import anyio
from fastmcp import Client as FastMCPClient
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

PROGRAM, URL = sys.argv[1:3]
HOME = os.environ["HOME"]
# What Codex 0.163 passes on, and what the SDKs of MCP do.
CODEX = ["HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "SSL_CERT_FILE", "TMPDIR", "USER"]
SDK = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
# The file, the way to its servers, whether an entry's command is a list of all words, and the variables that are passed on:
# None for all of them. For a program that was not seen to pass on more it is what the SDKs do.
HOSTS = {
    "claude-code": (".claude.json", ["mcpServers"], False, None),
    "codex": (".codex/config.toml", ["mcp_servers"], False, CODEX),
    "vscode": (".config/Code/User/mcp.json", ["servers"], False, SDK),
    "cursor": (".cursor/mcp.json", ["mcpServers"], False, SDK),
    "gemini": (".gemini/settings.json", ["mcpServers"], False, SDK),
    "opencode": (".config/opencode/opencode.json", ["mcp"], True, SDK),
}


def entry(host):
    file, way, is_list, _ = HOSTS[host]
    with open(os.path.join(HOME, file), "rb") as stream:
        servers = tomllib.load(stream) if file.endswith(".toml") else json.load(stream)
    for name in way:
        servers = servers[name]
    (name, found), = servers.items()
    words = found["command"] if is_list else [found["command"], *found["args"]]
    return name, words, found


def variables(host, found):
    """The variables of a server: those that the program passes on, those that its entry names, and those that it sets."""
    names = HOSTS[host][3]
    passed = os.environ if names is None else names + found.get("env_vars", [])
    given = {name: os.environ[name] for name in passed if name in os.environ}
    return {**given, **found.get("env", {}), **found.get("environment", {})}


async def speak(words, given):
    # The client adds variables of its own, which are those of SDK.
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=given)
    async with Client(stdio_client(parameters)) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def speak_by_configuration(name, found, given):
    servers = {name: {"command": found["command"], "args": found["args"], "env": given}}
    async with FastMCPClient({"mcpServers": servers}) as client:
        return {tool.name for tool in await client.list_tools()}


# Where the sign-in is, as the entry has to say it: not every program passes this on.
assert os.environ["XDG_STATE_HOME"]
for host, (file, _, is_list, _) in HOSTS.items():
    subprocess.run([PROGRAM, "integrate", host, "--resource", URL], check=True, stderr=subprocess.DEVNULL)
    name, words, found = entry(host)
    given = variables(host, found)
    tools = anyio.run(speak, words, given)
    assert "called" in tools, tools
    if not is_list:
        assert anyio.run(speak_by_configuration, name, found, given) == tools
    examined = subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, text=True, check=False).stdout
    assert name in examined, f"doctor does not know the entry of {host}: {examined}"
    subprocess.run([PROGRAM, "integrate", host, "--undo"], check=True, stderr=subprocess.DEVNULL)
    assert not os.path.exists(os.path.join(HOME, file)), file
print(f"    the entries of {', '.join(HOSTS)}, started by two clients")
