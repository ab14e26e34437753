# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""What the servers over HTTPS share: a request with the token in it, an answer, and a log of both without secrets."""
import base64
import binascii
import http.server
import json
import urllib.parse

from person import digest


class Answer:
    def __init__(self, status=200, headers=None, body=b""):
        self.status, self.headers, self.body = status, headers or {}, body


def as_json(document, status=200):
    return Answer(status, {"Content-Type": "application/json"}, json.dumps(document).encode())


class Request:
    """One request, and the token by which it is to be served."""

    def __init__(self, handler, body):
        self.method, self.headers, self.body = handler.command, handler.headers, body
        self.path, _, self.query = handler.path.partition("?")
        self.scheme, self.user, self.token = credentials(self.headers.get("Authorization"))
        self.provider, self.mount, self.rest = None, "", self.path

    def person(self):
        return self.provider.person(self.token)


def credentials(text):
    """The scheme, the user's name and the token of a header: the password of Basic, or what follows another scheme."""
    if not text:
        return None, None, None
    scheme, _, value = text.partition(" ")
    if scheme.lower() != "basic":
        return scheme.lower(), None, value
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "basic", None, None
    return "basic", user, urllib.parse.unquote(password)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(self, self.rfile.read(length))
        name, answer = self.server.dispatch(request)
        self.server.log({
            "service": name, "host": self.headers.get("Host"), "method": request.method, "path": request.path,
            "status": answer.status, "scheme": request.scheme, "user": request.user, "token": digest(request.token),
        })
        self.send_response(answer.status)
        for field, value in answer.headers.items():
            self.send_header(field, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if request.method != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_POST = do_HEAD = do_PUT = do_PROPFIND = serve

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
