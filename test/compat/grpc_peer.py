"""A gRPC service (`serve`), or a client of it that prints what it saw (`call TARGET AUTHORITY CA`)."""

import json
import sys
import threading
from concurrent import futures

import grpc

TEXT = "not there: 100 % ü"
cancellations = threading.Semaphore(0)


def status(request, context):
    facts = json.loads(request)
    if facts["head"]:
        context.send_initial_metadata((("x-initial", "first"),))
    context.set_trailing_metadata((("x-trailing", "last"),))
    if facts["code"]:
        context.abort(CODES[facts["code"]], TEXT)
    return b"ok"


def wait(_request, context):
    ended = threading.Event()
    context.add_callback(ended.set)
    context.send_initial_metadata(())
    ended.wait()
    cancellations.release()
    return b""


def cancelled(_request, _context):
    cancellations.acquire()
    return b""


CODES = {code.value[0]: code for code in grpc.StatusCode}


def serve():
    unary = grpc.unary_unary_rpc_method_handler
    handlers = {
        "Status": unary(status),
        "Wait": unary(wait),
        "Cancelled": unary(cancelled),
        "Collect": grpc.stream_unary_rpc_method_handler(
            lambda requests, _: str(sum(len(request) for request in requests)).encode()
        ),
        "Repeat": grpc.unary_stream_rpc_method_handler(lambda request, _: (request for _ in range(1000))),
        "Chat": grpc.stream_stream_rpc_method_handler(lambda requests, _: requests),
    }
    server = grpc.server(futures.ThreadPoolExecutor(64))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("adit.Peer", handlers)])
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()


def call(target, authority, ca):
    options = [("grpc.default_authority", authority)]
    if ca:
        credentials = grpc.ssl_channel_credentials(open(ca, "rb").read())
        options.append(("grpc.ssl_target_name_override", authority))
        channel = grpc.secure_channel(target, credentials, options)
    else:
        channel = grpc.insecure_channel(target, options)

    def outcome(code, head):
        method = channel.unary_unary("/adit.Peer/Status")
        response = method.future(json.dumps({"code": code, "head": head}).encode(), timeout=20)
        error = response.exception()
        initial = dict(response.initial_metadata()).get("x-initial", "")
        trailing = dict(response.trailing_metadata()).get("x-trailing", "")
        return [response.code().value[0], response.details() if error else "", initial, trailing]

    # Not as a future, which knows its metadata once all has arrived.
    waiting = channel.unary_stream("/adit.Peer/Wait")(b"")
    waiting.initial_metadata()
    waiting.cancel()
    channel.unary_unary("/adit.Peer/Cancelled")(b"", timeout=20)
    deadline = channel.unary_unary("/adit.Peer/Wait").future(b"", timeout=0.5).exception().code().value[0]
    channel.unary_unary("/adit.Peer/Cancelled")(b"", timeout=20)
    parallel = [channel.unary_unary("/adit.Peer/Status").future(b'{"code":0,"head":false}') for _ in range(500)]
    block = b"x" * 10_000
    chat = channel.stream_stream("/adit.Peer/Chat")
    said = threading.Semaphore(1)

    def words():
        for word in (b"one", b"two", b"three"):
            # Each waits for the answer to the one before.
            said.acquire()
            yield word

    heard = []
    for answer in chat(words()):
        heard.append(answer.decode())
        said.release()
    print(
        json.dumps(
            {
                "statuses": [outcome(code, False) for code in range(17)],
                "statusesAfterHead": [outcome(code, True) for code in range(17)],
                "deadline": deadline,
                "parallel": sum(one.result() == b"ok" for one in parallel),
                "collected": int(channel.stream_unary("/adit.Peer/Collect")(block for _ in range(1000))),
                "repeated": sum(len(one) for one in channel.unary_stream("/adit.Peer/Repeat")(block)),
                "chat": heard,
            }
        )
    )


if sys.argv[1] == "serve":
    serve()
else:
    call(*sys.argv[2:])
