# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""server.py fastmcp PORT: an MCP server of fastmcp, whose own authorization server registers every program.
server.py mcp PORT ISSUER INTROSPECTION CREDENTIALS: one of the Python SDK, whose tokens another server issues.

Both have one tool, which says that it was called.
"""
import os
import sys

kind, port = sys.argv[1], int(sys.argv[2])
base = f"http://127.0.0.1:{port}"

if kind == "fastmcp":
    from fastmcp import FastMCP
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
    from mcp.server.mcpserver import MCPServer

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


if kind == "fastmcp":
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
else:
    server.run(transport="streamable-http", host="127.0.0.1", port=port)
