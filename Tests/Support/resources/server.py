# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""server.py fastmcp PORT: an MCP server of fastmcp, whose own authorization server registers every program.
server.py mcp PORT ISSUER INTROSPECTION CREDENTIALS: one of the Python SDK, whose tokens another server issues.

Both have tools that answer, tell their progress, ask the person, wait, and close the stream of their answer.
"""
import asyncio
import sys

from pydantic import BaseModel

kind, port = sys.argv[1], int(sys.argv[2])
base = f"http://127.0.0.1:{port}"

if kind == "fastmcp":
    from fastmcp import Context, FastMCP
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
    from mcp.server.auth.settings import ClientRegistrationOptions

    provider = InMemoryOAuthProvider(
        base_url=base,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
        required_scopes=["notes"],
    )
    server = FastMCP("Notes", auth=provider)
else:
    import base64
    import json
    import urllib.parse
    import urllib.request

    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.mcpserver import Context, MCPServer

    issuer, introspection, credentials = sys.argv[3:6]

    class Verifier:
        """Asks the server that issued a token."""

        async def verify_token(self, token):
            request = urllib.request.Request(
                introspection,
                urllib.parse.urlencode({"token": token}).encode(),
                {"Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()},
            )
            with urllib.request.urlopen(request, timeout=10) as answer:
                said = json.load(answer)
            print("INTROSPECTED", json.dumps(said), file=sys.stderr, flush=True)
            if not said.get("active"):
                return None
            audience = said.get("aud")
            if isinstance(audience, list):
                audience = next(iter(audience), None)
            return AccessToken(
                token=token, client_id=said.get("client_id", ""), scopes=said.get("scope", "").split(), resource=audience
            )

    server = MCPServer(
        "Notes",
        token_verifier=Verifier(),
        auth=AuthSettings(
            issuer_url=issuer,
            resource_server_url=base + "/mcp",
            required_scopes=["api.read"],
            validate_token_resource=True,
        ),
    )


@server.tool()
def called() -> str:
    """Says that it was called."""
    return "called"


@server.tool()
async def counts(ctx: Context) -> str:
    """Tells its progress."""
    for step in range(1, 4):
        await ctx.report_progress(step, 3)
    return "counted"


class Agreement(BaseModel):
    word: str


@server.tool()
async def asks(ctx: Context) -> str:
    """Asks the person."""
    answer = await ctx.elicit("What is the word?", Agreement)
    return answer.data.word


cancelled = []


@server.tool()
async def waits() -> str:
    """Waits until it is cancelled."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        cancelled.append(1)
        raise
    return "waited"


@server.tool()
async def ends() -> str:
    """Says how many were cancelled."""
    return str(len(cancelled))


@server.tool()
async def breaks(ctx: Context) -> str:
    """Closes the stream of its answer, and answers in the next."""
    await ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return "whole"


if kind == "fastmcp":
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
else:
    from mcp.server.streamable_http import EventMessage, EventStore

    class Memory(EventStore):
        """The events of all streams, by numbers."""

        def __init__(self):
            self.events = []

        async def store_event(self, stream_id, message):
            self.events.append((stream_id, message))
            return str(len(self.events))

        async def replay_events_after(self, last_event_id, send_callback):
            stream = self.events[int(last_event_id) - 1][0]
            for number, (own, message) in enumerate(self.events[int(last_event_id):], int(last_event_id) + 1):
                if own == stream and message is not None:
                    await send_callback(EventMessage(message, str(number)))
            return stream

    server.run(transport="streamable-http", host="127.0.0.1", port=port, event_store=Memory(), retry_interval=50)
