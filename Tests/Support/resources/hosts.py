# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""hosts.py IDENTITYCTL URL: has 'identityctl integrate' write the entry of each AI program, reads it from the program's file
as its documentation says, and has the Python SDK's client, and fastmcp's, start exactly that.

The programs themselves are in no registry of packages that a test can use.
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
# The file, the way to its servers, and whether an entry's command is a list of all words.
HOSTS = {
    "claude-code": (".claude.json", ["mcpServers"], False),
    "codex": (".codex/config.toml", ["mcp_servers"], False),
    "vscode": (".config/Code/User/mcp.json", ["servers"], False),
    "cursor": (".cursor/mcp.json", ["mcpServers"], False),
    "gemini": (".gemini/settings.json", ["mcpServers"], False),
    "opencode": (".config/opencode/opencode.json", ["mcp"], True),
}


def entry(host):
    file, way, is_list = HOSTS[host]
    with open(os.path.join(HOME, file), "rb") as stream:
        servers = tomllib.load(stream) if file.endswith(".toml") else json.load(stream)
    for name in way:
        servers = servers[name]
    (name, found), = servers.items()
    words = found["command"] if is_list else [found["command"], *found["args"]]
    return name, words, found


async def speak(words):
    parameters = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
    async with Client(stdio_client(parameters)) as client:
        return {tool.name for tool in (await client.list_tools()).tools}


async def speak_by_configuration(name, found):
    servers = {name: {"command": found["command"], "args": found["args"], "env": dict(os.environ)}}
    async with FastMCPClient({"mcpServers": servers}) as client:
        return {tool.name for tool in await client.list_tools()}


for host, (file, _, is_list) in HOSTS.items():
    subprocess.run([PROGRAM, "integrate", host, "--resource", URL], check=True, stderr=subprocess.DEVNULL)
    name, words, found = entry(host)
    tools = anyio.run(speak, words)
    assert "called" in tools, tools
    if not is_list:
        assert anyio.run(speak_by_configuration, name, found) == tools
    examined = subprocess.run([PROGRAM, "doctor", "--json"], capture_output=True, text=True, check=False).stdout
    assert name in examined, f"doctor does not know the entry of {host}: {examined}"
    subprocess.run([PROGRAM, "integrate", host, "--undo"], check=True, stderr=subprocess.DEVNULL)
    assert not os.path.exists(os.path.join(HOME, file)), file
print(f"    the entries of {', '.join(HOSTS)}, started by two clients")
