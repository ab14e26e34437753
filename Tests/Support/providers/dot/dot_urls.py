# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpResponse
from django.urls import include, path
from oauth2_provider.urls import metadata_urlpatterns

urlpatterns = [
    path("login/", LoginView.as_view()),
    path("logout/", LogoutView.as_view()),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("", lambda request: HttpResponse("ok")),
    *metadata_urlpatterns,
]
