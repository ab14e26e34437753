# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""Creates the database of a new django-oauth-toolkit: two people, one public client, one for the device grant."""
import os

import django

django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from oauth2_provider.models import Application

call_command("migrate", verbosity=0, interactive=False)
for name in (os.environ["PROVIDER_USERNAME"], "bob"):
    User.objects.create_user(
        name, name + "@example.test", os.environ["PROVIDER_PASSWORD"], first_name=name.capitalize(), last_name="Example"
    )

# RFC 8252 §7.3: registered without a port, these match on any port.
hosts = ("http://localhost", "http://127.0.0.1", "http://[::1]")
client_id = os.environ["PROVIDER_CLIENT_ID"]
public = {"client_type": Application.CLIENT_PUBLIC, "algorithm": Application.RS256_ALGORITHM, "client_secret": ""}
Application.objects.create(
    client_id=client_id,
    name="Swift public client",
    authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
    redirect_uris=" ".join(host + path for host in hosts for path in ("", "/", "/callback", "/auth/callback")),
    post_logout_redirect_uris=" ".join(host + path for host in hosts[:2] for path in ("", "/", "/signed-out")),
    **public,
)
# What an API asks about its callers' tokens with.
Application.objects.create(
    client_id="swift-introspection",
    name="An API",
    client_type=Application.CLIENT_CONFIDENTIAL,
    client_secret="introspection-secret",
    authorization_grant_type=Application.GRANT_CLIENT_CREDENTIALS,
)
Application.objects.create(
    client_id=client_id + "-device",
    name="Swift device client",
    authorization_grant_type=Application.GRANT_DEVICE_CODE,
    **public,
)
