# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Repositories over HTTPS: git's own server program, behind a check of the token, which comes as the password."""
import os
import subprocess

from web import Answer


def answer(request, settings):
    person = request.person()
    if not person:
        return Answer(401, {"WWW-Authenticate": 'Basic realm="git"'})
    variables = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": settings["GIT_ROOT"],
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "PATH_INFO": request.rest,
        "QUERY_STRING": request.query,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(len(request.body)),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "REMOTE_USER": person,
    }
    done = subprocess.run(
        ["git", "http-backend"], input=request.body, env=variables, stdout=subprocess.PIPE, timeout=60, check=True
    )
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
    status = int(fields.pop("Status", "200").split()[0])
    return Answer(status, fields, body)
