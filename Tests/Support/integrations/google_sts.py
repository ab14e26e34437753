# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A stand-in for Google's token service: exchanges an ID token for a token of its own (RFC 8693), which soon ends."""
import urllib.parse

from web import as_json


def answer(request, settings):
    form = dict(urllib.parse.parse_qsl(request.body.decode()))
    request.token = form.get("subject_token")
    if not request.provider.subject(request.token):
        return as_json({"error": "invalid_grant", "error_description": "The ID token is not good"}, 400)
    return as_json({
        "access_token": "given-by-google", "token_type": "Bearer", "expires_in": 1,
        "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
    })
