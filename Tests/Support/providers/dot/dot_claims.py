# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
import os

from oauth2_provider.oauth2_validators import OAuth2Validator


class Validator(OAuth2Validator):
    """Which attributes of a person become claims, and two hooks that the toolkit leaves open."""

    oidc_claim_scope = {
        **OAuth2Validator.oidc_claim_scope, "name": "profile", "preferred_username": "profile", "email": "email",
    }

    def get_additional_claims(self):
        return {
            "name": lambda request: request.user.get_full_name(),
            "preferred_username": lambda request: request.user.username,
            "email": lambda request: request.user.email,
        }

    # Left unimplemented by the toolkit, which turns every prompt=none into an internal server error. Whether there is
    # a session, and with it `login_required`, is decided by its view.
    if os.environ.get("DOT_SILENT", "1") == "1":

        def validate_silent_login(self, request):
            return True

        def validate_silent_authorization(self, request):
            return True
