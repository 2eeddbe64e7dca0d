"""Connects two network namespaces with a link that delays packets and loses some.

Usage: lossy-link.py NAMESPACE ADDRESS NAMESPACE ADDRESS ONE_WAY_MS LOSS_PERCENT

The same as `tc qdisc add ... netem delay ... loss ...`, for kernels without netem. Python, because Node cannot open a TUN device.
"""

import fcntl
import os
import random
import select
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
MTU = 1500
MAX_PACKETS_IN_FLIGHT = 50_000


def open_tun(name: str, namespace: str, address: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    for command in (
        ["ip", "link", "set", name, "netns", namespace],
        ["ip", "-n", namespace, "address", "add", f"{address}/24", "dev", name],
        ["ip", "-n", namespace, "link", "set", name, "up", "mtu", str(MTU), "txqueuelen", "10000"],
    ):
        subprocess.run(command, check=True)
    return fd


def forward(fds: list[int], delay: float, loss: float) -> None:
    queues: dict[int, deque] = {fd: deque() for fd in fds}  # by the end that receives
    other = {fds[0]: fds[1], fds[1]: fds[0]}
    chance = random.Random(1)
    while True:
        due = min((queue[0][0] for queue in queues.values() if queue), default=None)
        timeout = None if due is None else max(0.0, due - time.monotonic())
        for fd in select.select(fds, [], [], timeout)[0]:
            queue = queues[other[fd]]
            try:
                for _ in range(64):
                    packet = os.read(fd, 65536)
                    if chance.random() >= loss and len(queue) < MAX_PACKETS_IN_FLIGHT:
                        queue.append((time.monotonic() + delay, packet))
            except BlockingIOError:
                pass
        now = time.monotonic()
        for fd, queue in queues.items():
            while queue and queue[0][0] <= now:
                try:
                    os.write(fd, queue.popleft()[1])
                except OSError:
                    pass  # The receiver's queue is full: one more lost packet.


agent_namespace, agent_address, server_namespace, server_address = sys.argv[1:5]
ends = [
    open_tun("bench-agents", agent_namespace, agent_address),
    open_tun("bench-servers", server_namespace, server_address),
]
print("forwarding", flush=True)
forward(ends, float(sys.argv[5]) / 1000, float(sys.argv[6]) / 100)
