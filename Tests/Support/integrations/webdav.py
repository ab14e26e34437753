# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A WebDAV server with one file, for those who send a token that the provider takes (RFC 4918)."""
from web import Answer

CONTENT = b"Kept by WebDAV\n"


def resource(path, kind, size):
    return f"""<d:response><d:href>{path}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype>
<d:getcontentlength>{size}</d:getcontentlength><d:getlastmodified>Thu, 01 Jan 2026 00:00:00 GMT</d:getlastmodified>
</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>"""


def answer(request, settings):
    if request.scheme != "bearer" or not request.person():
        return Answer(401, {"WWW-Authenticate": 'Bearer realm="webdav"'})
    if request.method in ("GET", "HEAD"):
        return Answer(200, {"Content-Type": "text/plain"}, CONTENT)
    if request.method != "PROPFIND":
        return Answer(405)
    found = resource(request.mount + "/note.txt", "", len(CONTENT))
    if request.rest == "/":
        found = resource(request.path, "<d:collection/>", 0) + found
    body = f'<?xml version="1.0" encoding="utf-8"?>\n<d:multistatus xmlns:d="DAV:">{found}</d:multistatus>'
    return Answer(207, {"Content-Type": "application/xml"}, body.encode())
