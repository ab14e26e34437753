# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A mail server that a person signs in to by XOAUTH2 or OAUTHBEARER alone (RFC 4954, RFC 7628)."""
import base64
import json
import re
import socketserver

from person import digest


class Handler(socketserver.StreamRequestHandler):
    timeout = 30

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def hear(self):
        return self.rfile.readline(1 << 16).decode("utf-8", "replace").rstrip("\r\n")

    def handle(self):
        person = None
        self.say("220 localhost ESMTP")
        while line := self.hear():
            words = line.split()
            verb = words[0].upper() if words else ""
            if verb in ("EHLO", "HELO"):
                self.say("250-localhost")
                self.say("250 AUTH XOAUTH2 OAUTHBEARER")
            elif verb == "AUTH" and len(words) in (2, 3):
                person = self.sign_in(words[1].upper(), words[2] if len(words) == 3 else None)
            elif verb == "QUIT":
                return self.say("221 Bye")
            elif not person:
                self.say("530 Sign in first")
            elif verb == "DATA":
                self.say("354 Go on")
                while self.hear() != ".":
                    pass
                self.server.log({"service": "mail", "event": "message", "person": person})
                self.say("250 Taken")
            else:
                self.say("250 OK")

    def sign_in(self, mechanism, response):
        if response is None:
            self.say("334 ")
            response = self.hear()
        text = base64.b64decode(response).decode()
        patterns = {
            "XOAUTH2": r"user=(?P<user>[^\x01]+)\x01auth=Bearer (?P<token>[^\x01]+)\x01\x01",
            "OAUTHBEARER": r"n,a=(?P<user>[^,\x01]+),\x01host=(?P<host>[^\x01]+)\x01port=(?P<port>\d+)\x01"
            r"auth=Bearer (?P<token>[^\x01]+)\x01\x01",
        }
        match = re.fullmatch(patterns.get(mechanism, "(?!)"), text)
        person = match and self.server.provider.person(match["token"])
        self.server.log({
            "service": "mail", "event": mechanism, "user": match and match["user"], "status": 235 if person else 535,
            "token": digest(match and match["token"]), "response": digest(response),
        })
        if person:
            self.say("235 Welcome")
            return person
        problem = json.dumps({"status": "invalid_token", "schemes": "bearer", "scope": "mail"})
        self.say("334 " + base64.b64encode(problem.encode()).decode())
        self.hear()
        self.say("535 The token is not good")
        return None


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
