"""Calls every method of the services named on standard input with the Python client and prints what failed, as JSON."""
import inspect
import json
import sys

import ngrok


class Fields(dict):
    """Stands for the client's own classes where it expects one of them as an argument."""

    @property
    def _props(self):
        return self


plan = json.load(sys.stdin, object_hook=Fields)
client = ngrok.Client(plan["api_key"], plan["base_url"])
calls = 0
failures = []


def decode(value):
    """Reads every property, as programs do that use the typed answers."""
    for name, _ in inspect.getmembers(type(value), lambda member: isinstance(member, property)):
        getattr(value, name)
    return value


def attempt(service, method, **fields):
    global calls
    if not hasattr(service, method):
        return None
    function = getattr(service, method)
    accepted = inspect.signature(function).parameters
    calls += 1
    try:
        answer = function(**{name: value for name, value in fields.items() if name in accepted})
        return [decode(item) for item in answer] if method == "list" else decode(answer)
    except Exception as error:
        failures.append(f"{type(service).__name__}.{method}: {error!r}")


for entry in plan["services"]:
    service = client
    for name in entry["path"]:
        service = getattr(service, name)
    created = attempt(service, "create", **entry["create"])
    if created is None:
        continue
    attempt(service, "get", id=created.id)
    attempt(service, "update", id=created.id, **entry["update"])
    if hasattr(service, "list"):
        listed = attempt(service, "list") or []
        if created.id not in [item.id for item in listed]:
            failures.append(f"{type(service).__name__}.list: lacks what was created")
    attempt(service, "delete", id=created.id)

print(json.dumps({"calls": calls, "failures": failures}))
