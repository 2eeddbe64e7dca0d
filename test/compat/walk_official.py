"""Calls every method of the services of the official Python client by the plan on standard input and prints what failed, as
JSON. With the argument `services` it prints the paths of the services instead."""
import inspect
import json
import sys

import ngrok
import ngrok.datatypes


class Fields(dict):
    """Stands for the client's own classes where it expects one of them as an argument."""

    @property
    def _props(self):
        return self


calls = 0
failures = []


def services_of(parent, path=()):
    """Every service by its path; a namespace is a named tuple of services."""
    properties = inspect.getmembers(type(parent), lambda member: isinstance(member, property))
    for name in getattr(parent, "_fields", None) or [name for name, _ in properties]:
        member = getattr(parent, name)
        if hasattr(member, "_fields"):
            yield from services_of(member, (*path, name))
        else:
            yield "/".join((*path, name)), member


def decode(value):
    """Reads every property, as programs do that use the typed answers."""
    if isinstance(value, (list, tuple)):
        for item in value:
            decode(item)
    elif type(value).__module__ == ngrok.datatypes.__name__:
        for name, _ in inspect.getmembers(type(value), lambda member: isinstance(member, property)):
            decode(getattr(value, name))
    return value


def items_of(answer):
    """All objects of a list, over its pages; the sources of events have one page."""
    pages = iter(answer) if hasattr(answer, "__iter__") else None
    return answer.sources if pages is None else [decode(item) for item in _follow(pages)]


def _follow(pages):
    # The client's iterator has __next__ alone.
    while True:
        try:
            yield next(pages)
        except StopIteration:
            return


def attempt(path, service, method, fields):
    """Calls a method, if the service has it, with the fields it accepts; returns the typed answer."""
    global calls
    function = getattr(service, method, None)
    if function is None:
        return None
    accepted = inspect.signature(function).parameters
    calls += 1
    try:
        answer = decode(function(**{name: value for name, value in fields.items() if name in accepted}))
        if method == "list" and not items_of(answer):
            raise RuntimeError("the list is empty")
        return answer
    except Exception as error:
        failures.append(f"{path}.{method}: {error!r}")
        return None


def walk(path, service, plan):
    """Creates an object, calls the other methods, and deletes it. In reverse order, the management of a certificate ends
    before the certificate is detached."""
    item = plan["item"]
    created = attempt(path, service, "create", plan.get("create", {}))
    if hasattr(created, "id"):
        item["id"] = created.id
    attempt(path, service, "replace", {**item, "module": plan.get("module")})
    methods = [name for name, _ in inspect.getmembers(service, inspect.ismethod) if not name.startswith("_")]
    for method in sorted(methods, reverse=True):
        if method == "update":
            attempt(path, service, method, {**item, **plan.get("update", {})})
        elif method == "list":
            # Ids are filters there.
            attempt(path, service, method, {name: value for name, value in item.items() if name != "id"})
        elif method not in ("create", "replace", "delete"):
            attempt(path, service, method, item)
    attempt(path, service, "delete", item)


def main():
    if sys.argv[1:] == ["services"]:
        print(json.dumps([path for path, _ in services_of(ngrok.Client(""))]))
        return
    plan = json.load(sys.stdin, object_hook=Fields)
    services = dict(services_of(ngrok.Client(plan["api_key"], plan["base_url"])))
    for each in plan["services"]:
        walk(each["service"], services[each["service"]], each)
    print(json.dumps({"calls": calls, "failures": failures}))


main()
