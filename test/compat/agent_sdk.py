"""Binds the endpoints of a plan on standard input with the official Python SDK, tells how each fared, and serves them
until standard input ends. The SDK has no options for bindings and pools."""

import asyncio
import json
import sys

import ngrok


async def bind(session, endpoint):
    builder = session.http_endpoint().metadata(endpoint["metadata"])
    scheme, host = endpoint["url"].split("://")
    builder.scheme(scheme)
    builder.domain(host)
    if endpoint["trafficPolicy"]:
        builder.traffic_policy(endpoint["trafficPolicy"])
    try:
        listener = await builder.listen_and_forward(endpoint["upstream"])
        return {"url": listener.url(), "error": ""}, listener
    except Exception as error:
        return {"url": "", "error": str(error)}, None


async def main():
    plan = json.loads(sys.stdin.readline())
    builder = ngrok.SessionBuilder()
    builder.authtoken(plan["authtoken"]).server_addr(plan["address"]).ca_cert(bytearray(plan["ca"], "ascii"))
    session = await builder.connect()
    bound = [await bind(session, endpoint) for endpoint in plan["endpoints"]]
    print(json.dumps([outcome for outcome, _ in bound]), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await session.close()


asyncio.run(main())
