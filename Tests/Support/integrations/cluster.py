# Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
"""A stand-in for the server of a Kubernetes cluster. It checks the ID token, and has one object, named by the person."""
from web import as_json

RESOURCE = {"name": "configmaps", "singularName": "", "namespaced": True, "kind": "ConfigMap", "verbs": ["get", "list"]}


def answer(request, settings):
    person = request.provider.subject(request.token)
    if request.scheme != "bearer" or not person:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}
        return as_json({**status, "message": "Unauthorized"}, 401)
    item = {"metadata": {"name": f"person-{person}", "namespace": "default"}, "kind": "ConfigMap", "apiVersion": "v1"}
    documents = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [RESOURCE]},
        "/api/v1/namespaces/default/configmaps": {
            "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [item],
        },
    }
    document = documents.get(request.rest)
    return as_json(document) if document else as_json({"kind": "Status", "apiVersion": "v1", "code": 404}, 404)
