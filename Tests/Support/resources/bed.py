# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""The servers of programs.py, on the loopback interface: an MCP server with an authorization server whose refresh tokens are good
once, and a model that calls the tools that a prompt names.
"""
import http.server
import json
import secrets
import threading
import time
import urllib.parse


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=None, **fields):
        kind = "text/event-stream" if isinstance(body, str) else "application/json"
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **fields}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def read(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def handle_any(self):
        self.body = self.read()
        try:
            self.server.owner.handle(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = do_HEAD = handle_any


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 256

    def __init__(self, owner, port=0):
        super().__init__(("127.0.0.1", port), Request)
        self.owner = owner
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass


class Resource:
    """The MCP server and its authorization server. `count` has how often something happened."""

    def __init__(self, lifetime=3600):
        self.lifetime, self.lock = lifetime, threading.RLock()
        self.codes, self.access, self.refresh, self.ended, self.sessions = {}, {}, {}, set(), set()
        self.needed = {}  # the scope that a tool needs
        self.registered, self.wait = time.time(), 0.0  # the longest time between a registration and the page after it
        self.count = dict.fromkeys(("registration", "page", "refresh", "reuse", "call"), 0)
        listener = Listener(self)
        self.base = f"http://127.0.0.1:{listener.server_port}"
        self.url = self.base + "/mcp"

    def note(self, what):
        with self.lock:
            self.count[what] += 1

    def take_back(self):
        """The access tokens are good no more; the refresh tokens are."""
        with self.lock:
            self.access.clear()

    def end(self):
        """All sign-ins end."""
        with self.lock:
            self.ended |= {family for family, _, _ in self.refresh.values()}
            self.access.clear()

    def handle(self, request):
        parts = urllib.parse.urlsplit(request.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path.startswith("/.well-known/oauth-protected-resource"):
            return request.answer(
                200, {"resource": self.url, "authorization_servers": [self.base], "scopes_supported": ["notes"]}
            )
        if parts.path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
            ways = {name: f"{self.base}/{name.split('_')[0]}" for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")}
            return request.answer(200, {
                "issuer": self.base, **ways, "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
                "scopes_supported": ["notes", "admin"], "authorization_response_iss_parameter_supported": True,
            })
        if parts.path == "/registration":
            self.note("registration")
            self.registered = time.time()
            return request.answer(201, {**json.loads(request.body), "client_id": "c-" + secrets.token_hex(4)})
        if parts.path == "/authorization":
            self.note("page")
            if self.count["page"] == self.count["registration"]:
                self.wait = max(self.wait, time.time() - self.registered)
            code = secrets.token_urlsafe(16)
            self.codes[code] = query.get("scope", "notes")
            back = urllib.parse.urlencode({"code": code, "state": query.get("state", ""), "iss": self.base})
            return request.answer(302, None, Location=f"{query['redirect_uri']}?{back}")
        if parts.path == "/token":
            return self.give(request, dict(urllib.parse.parse_qsl(request.body.decode())))
        if parts.path == "/mcp":
            return self.serve(request)
        return request.answer(404, {"error": "not_found"})

    def give(self, request, form):
        refused = {"error": "invalid_grant"}
        with self.lock:
            if form.get("grant_type") == "authorization_code":
                scope, family = self.codes.pop(form.get("code"), None), secrets.token_hex(4)
                if scope is None:
                    return request.answer(400, refused)
            else:
                family, scope, is_used = self.refresh.get(form.get("refresh_token"), (None, None, None))
                if family is None or family in self.ended:
                    return request.answer(400, refused)
                if is_used:
                    self.ended.add(family)
                    self.note("reuse")
                    return request.answer(400, refused)
                self.refresh[form["refresh_token"]] = (family, scope, True)
                self.note("refresh")
            access, refresh = "at-" + secrets.token_urlsafe(12), "rt-" + secrets.token_urlsafe(12)
            self.access[access] = (scope, time.time() + self.lifetime)
            self.refresh[refresh] = (family, scope, False)
        return request.answer(200, {
            "access_token": access, "token_type": "Bearer", "expires_in": self.lifetime, "refresh_token": refresh,
            "scope": scope,
        })

    def serve(self, request):
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        scope, end = self.access.get(token, ("", 0))
        metadata = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
        if end < time.time():
            return request.answer(401, {}, WWW_Authenticate=metadata + (', error="invalid_token"' if token else ""))
        if request.command != "POST":
            return request.answer(200 if request.command == "DELETE" else 405)
        message = json.loads(request.body)
        method, params = message.get("method"), message.get("params") or {}
        session = request.headers.get("Mcp-Session-Id")
        if method not in ("initialize", "server/discover") and session not in self.sessions:
            return request.answer(404)
        if "id" not in message:
            return request.answer(202)

        def result(value, **fields):
            return request.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": value}, **fields)

        if method == "initialize":
            session = secrets.token_hex(8)
            self.sessions.add(session)
            version = min(params.get("protocolVersion", ""), "2025-11-25")
            information = {"name": "notes", "version": "1"}
            return result(
                {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": information}, Mcp_Session_Id=session
            )
        if method == "tools/list":
            schema = {"type": "object", "properties": {"text": {"type": "string"}}}
            return result({"tools": [{"name": n, "description": n, "inputSchema": schema} for n in ("echo", "admin", "slow")]})
        if method == "tools/call":
            name, needed = params["name"], self.needed.get(params["name"])
            if needed and needed not in scope.split():
                return request.answer(
                    403, {}, WWW_Authenticate=f'{metadata}, error="insufficient_scope", scope="notes {needed}"'
                )
            self.note("call")
            if name == "slow":
                time.sleep(2)
            text = f"{name} {(params.get('arguments') or {}).get('text', '')}"
            return result({"content": [{"type": "text", "text": text}]})
        if method == "ping":
            return result({})
        error = {"code": -32601, "message": "Method not found"}
        return request.answer(400 if method == "server/discover" else 200, {"jsonrpc": "2.0", "id": message["id"], "error": error})


class Model:
    """Calls the tools of the prompt's `STEPS:[["echo", {"text": "1"}], ["!hook"]]`, one after the other.

    `said` has what the tools answered. A name with an exclamation mark calls one of `hooks` in between, once. A tool that is not
    there yet is called again for ten seconds: the programs begin before their servers have answered.
    """

    MISSING = ("No such tool available", "unsupported call")

    def __init__(self):
        self.said, self.hooks, self.done, self.lock = [], {}, set(), threading.Lock()
        self.port = Listener(self).server_port

    def handle(self, request):
        if request.command == "POST" and request.path.split("?")[0].endswith("/messages"):
            return self.anthropic(request, json.loads(request.body))
        if request.command == "POST" and request.path.split("?")[0].endswith("/responses"):
            return self.openai(request, json.loads(request.body))
        return request.answer(200, {"input_tokens": 1, "data": [], "models": []})

    def step(self, texts, calls, names, missing):
        """The next tool and its arguments; None at the end, and without tools, which programs ask for titles."""
        prompt = next((text for text in reversed(texts) if "STEPS:" in text), None)
        if prompt is None or not names or missing > 20:
            return None
        steps = json.JSONDecoder().raw_decode(prompt.split("STEPS:", 1)[1])[0]
        for index, step in enumerate(steps):
            if step[0].startswith("!"):
                with self.lock:
                    is_new = (prompt, index) not in self.done and calls == 0
                    if is_new:
                        self.done.add((prompt, index))
                if is_new:
                    self.hooks[step[0][1:]]()
            elif calls == 0:
                found = next((name for name in names if name == step[0] or name.endswith("__" + step[0])), None)
                if not found:
                    time.sleep(0.5)
                return found or step[0], step[1]
            else:
                calls -= 1
        return None

    @staticmethod
    def text(content):
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])

    def anthropic(self, request, asked):
        texts, calls, said, missing = [], 0, None, 0
        for message in asked["messages"]:
            parts = message["content"]
            for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
                if part["type"] == "text" and message["role"] == "user":
                    texts.append(part["text"])
                elif part["type"] == "tool_result":
                    text = self.text(part.get("content"))
                    if any(word in text for word in self.MISSING):
                        missing += 1
                        continue
                    calls += 1
                    said = text if message is asked["messages"][-1] else None
        if said is not None:
            self.said.append(said)
        step = self.step(texts, calls, [tool["name"] for tool in asked.get("tools", [])], missing)
        block = {"type": "text", "text": "finished"}
        delta = {"type": "text_delta", "text": "finished"}
        if step:
            block = {"type": "tool_use", "id": "toolu_" + secrets.token_hex(8), "name": step[0], "input": step[1]}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
        reason, usage = "tool_use" if step else "end_turn", {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", ""), "content": [block],
            "stop_reason": reason, "stop_sequence": None, "usage": usage,
        }
        if not asked.get("stream"):
            return request.answer(200, message)
        empty = {**block, "input": {}} if step else {**block, "text": ""}
        return self.stream(request, [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ])

    def openai(self, request, asked):
        texts, calls, names, spaces, missing = [], 0, [], {}, 0
        for item in asked["input"]:
            if item.get("role") == "user":
                texts.append(self.text(item["content"]))
            elif item.get("type") == "function_call_output":
                text = self.text(item["output"])
                if any(word in text for word in self.MISSING):
                    missing += 1
                    continue
                calls += 1
                if item is asked["input"][-1]:
                    self.said.append(text)
        for tool in asked.get("tools", []):
            if tool["type"] == "namespace":
                names += [inner["name"] for inner in tool["tools"]]
                spaces.update({inner["name"]: tool["name"] for inner in tool["tools"]})
            elif tool["type"] == "function":
                names.append(tool["name"])
        step = self.step(texts, calls, names, missing)
        item = {
            "id": "m1", "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "finished", "annotations": []}],
        }
        if step:
            item = {
                "id": "f1", "type": "function_call", "status": "completed", "call_id": "call_" + secrets.token_hex(6),
                "name": step[0], "arguments": json.dumps(step[1]),
            }
            if step[0] in spaces:
                item["namespace"] = spaces[step[0]]
        usage = {
            "input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        answer = {"id": "r1", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return self.stream(request, [
            {"type": "response.created", "response": {**answer, "status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": answer},
        ])

    @staticmethod
    def stream(request, events):
        request.answer(200, "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events))
