# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A small authorization server whose tokens say which refresh they came from.

The refresh token RT.n is redeemed once, for AT.n+1 and RT.n+1; a second use ends the sign-in, as with providers that take it
for theft. After `forgives` is set, every refresh token is taken, and the access token PROBE.n says which one was sent: so the
program itself tells what it found on the disk.
"""
import base64
import json
import subprocess
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


TENANT = "11111111-2222-4333-8444-555555555555"
PERSON = "66666666-7777-4888-8999-aaaaaaaaaaaa"


def encoded(content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """A key that signs ID tokens."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="power-loss-key-")
        subprocess.run(["openssl", "genrsa", "-out", self.file.name, "2048"], check=True, capture_output=True)
        text = self.openssl("rsa", "-in", self.file.name, "-noout", "-modulus").decode()
        self.modulus = bytes.fromhex(text.strip().removeprefix("Modulus="))

    @staticmethod
    def openssl(*words, text=b""):
        return subprocess.run(["openssl", *words], input=text, check=True, capture_output=True).stdout

    def signed(self, claims):
        text = f"{encoded({'alg': 'RS256', 'kid': 'k'})}.{encoded(claims)}"
        return f"{text}.{encoded(self.openssl('dgst', '-sha256', '-sign', self.file.name, text=text.encode()))}"

    @property
    def public(self):
        return {"kty": "RSA", "kid": "k", "use": "sig", "alg": "RS256", "n": encoded(self.modulus), "e": "AQAB"}


class Provider:
    def __init__(self, lifetime=3600):
        self.forgives, self.lifetime, self.next, self.ended, self.registered, self.delay = False, lifetime, 0, False, 0, 0
        self.lock, self.requests, self.key = threading.Lock(), [], None
        provider = self

        class Exchange(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply(*provider.page(self.path))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.reply(*provider.post(self.path, body))

            def reply(self, status, content, headers=()):
                body = b"" if content is None else json.dumps(content).encode()
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        class Server(ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 256

            def handle_error(self, *_):
                pass  # A client that was killed.

        self.server = Server(("127.0.0.1", 0), Exchange)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def page(self, path):
        path, _, query = path.partition("?")
        query = dict(urllib.parse.parse_qsl(query))
        match path:
            case "/authorize":
                answer = urllib.parse.urlencode({"code": "CODE", "state": query["state"], "iss": self.issuer})
                return 302, None, [("Location", f"{query['redirect_uri']}?{answer}")]
            case "/.well-known/oauth-protected-resource/api":
                api = self.issuer + "/api"
                return 200, {"resource": api, "authorization_servers": [self.issuer], "scopes_supported": ["read"]}
            case "/.well-known/oauth-authorization-server":
                return 200, self.metadata()
            case "/keys":
                return 200, {"keys": [self.key.public]}
            case _ if path.endswith("/v2.0/.well-known/openid-configuration"):
                self.key = self.key or Key()
                return 200, self.metadata() | {"issuer": f"{self.issuer}/{TENANT}/v2.0", "jwks_uri": self.issuer + "/keys"}
            case "/api":
                where = self.issuer + "/.well-known/oauth-protected-resource/api"
                return 401, None, [("WWW-Authenticate", f'Bearer resource_metadata="{where}"')]
        return 404, None

    def metadata(self):
        endpoints = {"authorization": "authorize", "token": "token", "registration": "register", "revocation": "revoke"}
        return {f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in endpoints.items()} | {
            "issuer": self.issuer,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "authorization_response_iss_parameter_supported": True,
        }

    def post(self, path, body):
        if path == "/register":
            with self.lock:
                self.registered += 1
                name = f"client-{self.registered}"
            return 201, json.loads(body) | {"client_id": name}
        if path != "/token":
            return 200, None
        form = dict(urllib.parse.parse_qsl(body.decode()))
        if self.delay:
            threading.Event().wait(self.delay)
        with self.lock:
            self.requests.append(form)
            return self.token(form)

    def token(self, form):
        sent = form.get("refresh_token")
        if sent and self.forgives:
            return 200, self.answer(f"PROBE.{sent.removeprefix('RT.')}", sent)
        if sent and sent != f"RT.{self.next}" or self.ended:
            self.ended = True
            return 400, {"error": "invalid_grant"}
        self.next += 1
        return 200, self.answer(f"AT.{self.next}", f"RT.{self.next}")

    def answer(self, access, refresh):
        tokens = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": self.lifetime}
        return tokens | self.person() if self.key else tokens

    def person(self):
        """Who signed in, as Entra ID says it."""
        now = int(time.time())
        claims = {
            "iss": f"{self.issuer}/{TENANT}/v2.0", "sub": "subject", "aud": "test-client", "iat": now, "exp": now + 3600,
            "tid": TENANT, "oid": PERSON, "preferred_username": "alice@example.test",
        }
        return {"id_token": self.key.signed(claims), "client_info": encoded({"uid": PERSON, "utid": TENANT})}
