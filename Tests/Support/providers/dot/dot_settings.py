# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A minimal provider out of django-oauth-toolkit: settings only, every decision of the protocol is the toolkit's."""
import os
from pathlib import Path

STATE = Path(os.environ["STATE"])
BASE = os.environ["BASE"]


def switch(name):
    return os.environ.get(name, "1") == "1"


def switches_on(name):
    return os.environ.get(name) == "1"


SECRET_KEY = "for one test run on the loopback interface"
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "dot_urls"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "oauth2_provider",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "DIRS": [Path(__file__).parent / "templates"],
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
    ]},
}]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": STATE / "db.sqlite3",
    "OPTIONS": {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
    },
}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # fast; nothing here is worth a slow one
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
USE_TZ = True
TIME_ZONE = "UTC"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BASE.startswith("https")

OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_ISS_ENDPOINT": BASE + "/o",
    "OIDC_RSA_PRIVATE_KEY": (STATE / "signing-key.pem").read_text(),
    "OIDC_JWKS_MAX_AGE_SECONDS": 5,
    "OAUTH2_VALIDATOR_CLASS": "dot_claims.Validator",
    "SCOPES": {
        "openid": "OpenID Connect",
        "profile": "profile",
        "email": "email",
        "offline_access": "offline access",
        "api.read": "read the API",
        "api.write": "write the API",
    },
    "DEFAULT_SCOPES": ["openid"],
    "PKCE_REQUIRED": True,
    "ACCESS_TOKEN_EXPIRE_SECONDS": int(os.environ["AT_TTL"]),
    "ID_TOKEN_EXPIRE_SECONDS": int(os.environ["AT_TTL"]),
    "REFRESH_TOKEN_EXPIRE_SECONDS": int(os.environ["RT_TTL"]),
    "ROTATE_REFRESH_TOKEN": switch("DOT_ROTATE"),
    "REFRESH_TOKEN_REUSE_PROTECTION": switch("DOT_REUSE_PROTECTION"),
    "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": int(os.environ.get("DOT_GRACE", "0")),
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ALLOW_LOCALHOST_LOOPBACK": True,
    "REQUEST_APPROVAL_PROMPT": os.environ.get("DOT_APPROVAL", "force"),
    "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
    "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": True,
    "OAUTH_DEVICE_VERIFICATION_URI": BASE + "/o/device/",
    "OAUTH_DEVICE_VERIFICATION_URI_COMPLETE": lambda user_code: f"{BASE}/o/device/?user_code={user_code}",
    "DEVICE_FLOW_INTERVAL": 1,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "DCR_ENABLED": switches_on("DOT_REGISTRATION"),
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
    "CIMD_ENABLED": switches_on("DOT_REGISTRATION"),
    "CIMD_METADATA_FETCHER": "dot_documents.Fetcher",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"file": {"class": "logging.FileHandler", "filename": STATE / "log"}},
    "loggers": {
        "django": {"handlers": ["file"], "level": "INFO"},
        "oauth2_provider": {"handlers": ["file"], "level": "DEBUG"},
        "oauthlib": {"handlers": ["file"], "level": "DEBUG"},
    },
}
