# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A stand-in for AWS's token service: gives credentials for an ID token, and tells those who sign with them who they are."""
import datetime
import hashlib
import hmac
import re
import secrets
import urllib.parse

from web import Answer

XMLNS = "https://sts.amazonaws.com/doc/2011-06-15/"
ROLE = "arn:aws:iam::123456789012:role/deploy"
given = {}  # the access key's id: the secret and the session token


def answer(request, settings):
    form = dict(urllib.parse.parse_qsl(request.body.decode(), keep_blank_values=True))
    if form.get("Version") != "2011-06-15":
        return refusal(400, "InvalidAction", "This version is unknown.")
    if form.get("Action") == "AssumeRoleWithWebIdentity":
        return assume(request, form)
    if form.get("Action") == "GetCallerIdentity" and is_signed(request):
        body = f"""<GetCallerIdentityResponse xmlns="{XMLNS}"><GetCallerIdentityResult>
<Arn>arn:aws:sts::123456789012:assumed-role/deploy/identityctl</Arn><UserId>A:identityctl</UserId>
<Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>"""
        return Answer(200, {"Content-Type": "text/xml"}, body.encode())
    return refusal(403, "SignatureDoesNotMatch", "The signature is another one.")


def assume(request, form):
    request.token = form.get("WebIdentityToken")
    if "Authorization" in request.headers:
        return refusal(400, "ValidationError", "This call is not signed.")
    if form.get("RoleArn") != ROLE:
        return refusal(403, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
    if not request.provider.subject(request.token):
        return refusal(400, "InvalidIdentityToken", "No OpenIDConnect provider found in your account")
    key, secret, session = "ASIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30), secrets.token_urlsafe(300)
    given[key] = secret, session
    seconds = int(form.get("DurationSeconds", "3600"))
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    body = f"""<AssumeRoleWithWebIdentityResponse xmlns="{XMLNS}">
  <AssumeRoleWithWebIdentityResult>
    <Audience>a &amp; b</Audience>
    <AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/deploy/{form["RoleSessionName"]}</Arn></AssumedRoleUser>
    <Credentials>
      <SessionToken>{session}</SessionToken>
      <SecretAccessKey>{secret}</SecretAccessKey>
      <Expiration>{end:%Y-%m-%dT%H:%M:%SZ}</Expiration>
      <AccessKeyId>{key}</AccessKeyId>
    </Credentials>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>"""
    return Answer(200, {"Content-Type": "text/xml"}, body.encode())


def is_signed(request):
    """Whether the request is signed with credentials given here (Signature Version 4)."""
    head = request.headers.get("Authorization", "")
    match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=(\w+)/(.+), SignedHeaders=([a-z0-9;-]+), Signature=(\w+)", head)
    if not match or match[1] not in given:
        return False
    key, scope, names, signature = match.groups()
    secret, session = given[key]
    fields = "".join(f"{name}:{request.headers[name].strip()}\n" for name in names.split(";"))
    digest = hashlib.sha256(request.body).hexdigest()
    canonical = "\n".join([request.method, request.path, request.query, fields, names, digest])
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["X-Amz-Date"], scope, hashed])
    signing = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        signing = hmac.new(signing, part.encode(), "sha256").digest()
    expected = hmac.new(signing, text.encode(), "sha256").hexdigest()
    return hmac.compare_digest(expected, signature) and request.headers.get("X-Amz-Security-Token") == session


def refusal(status, code, message):
    body = f"""<ErrorResponse xmlns="{XMLNS}"><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message>
</Error><RequestId>1</RequestId></ErrorResponse>"""
    return Answer(status, {"Content-Type": "text/xml"}, body.encode())
