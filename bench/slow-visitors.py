"""Visitors of bench/slow-visitors.ts: `stall` opens requests and reads nothing, `ask` times requests one after the other."""

import json
import resource
import socket
import sys
import time

TIMEOUT_S = 2


def request(address, host, path):
    visitor = socket.socket()
    # A browser that reads nothing takes what its own buffers hold; these are to be those of the server.
    visitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    visitor.settimeout(TIMEOUT_S)
    visitor.connect(address)
    visitor.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return visitor


def stall(address, host, count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100,) * 2)
    visitors = [request(address, host, "/large") for _ in range(count)]
    print("stalled", flush=True)
    time.sleep(3600)
    del visitors


def ask(address, host, count):
    times = []
    for _ in range(count):
        start = time.perf_counter()
        try:
            with request(address, host, "/small") as visitor:
                if not visitor.recv(4096).startswith(b"HTTP/1.1 200"):
                    raise OSError
            times.append((time.perf_counter() - start) * 1000)
        except OSError:
            times.append(None)
    print(json.dumps(times))


mode, ip, port, host, count = sys.argv[1:]
{"stall": stall, "ask": ask}[mode]((ip, int(port)), host, int(count))
