"""Creates, reads, changes, lists and deletes each resource of the plan on standard input with the client that was
generated as the package `account`, and prints what failed, as JSON."""
import importlib
import json
import sys
import typing

from account import AuthenticatedClient
from account.models import Problem

plan = json.load(sys.stdin)
client = AuthenticatedClient(base_url=plan["base_url"], token=plan["api_key"])
calls = 0
failures = []


def attempt(tag, action, parents, body=None, **ids):
    """Calls an operation, if the client has it, with a body of the client's own class; returns the typed answer."""
    global calls
    name = f"{tag}_{action}"
    try:
        function = importlib.import_module(f"account.api.{tag}.{name}").sync_detailed
    except ModuleNotFoundError:
        return None
    arguments = {**parents, **ids}
    if body is not None:
        classes = typing.get_args(typing.get_type_hints(function)["body"]) or [typing.get_type_hints(function)["body"]]
        arguments["body"] = classes[0].from_dict(body)
    calls += 1
    try:
        response = function(client=client, **arguments)
        if response.status_code >= 300 or isinstance(response.parsed, Problem):
            raise RuntimeError(response.content.decode())
        if body is not None and response.parsed.additional_properties:
            raise RuntimeError(f"not in the document: {response.parsed.additional_properties}")
        return response.parsed
    except Exception as error:
        failures.append(f"{name}: {error!r}")
        return None


for service in plan["services"]:
    tag, parents = service["tag"], service["parents"]
    created = attempt(tag, "create", parents, service["create"])
    if created is None:
        continue
    attempt(tag, "get", parents, id=created.id)
    attempt(tag, "update", parents, service["update"], id=created.id)
    attempt(tag, "list", {})
    attempt(tag, "delete", parents, id=created.id)

print(json.dumps({"calls": calls, "failures": failures}))
