# Stores a notebook, runs its cells on a kernel and interrupts one; prints what the kernel has answered.
import json
import logging
import sys
import threading

import requests
from jupyter_kernel_client import JupyterKernelClient

logging.disable(logging.CRITICAL)
url = sys.argv[1]
headers = {"Authorization": "token secret"}
cells = [
    "print('x' * 3_000_000)\nfor line in range(5000): print(line)",
    "from IPython.display import Image, display\ndisplay(Image(data=b'\\x89PNG' + bytes(range(256)) * 4000, format='png'))\n6 * 7",
    "1 / 0",
]
notebook = {
    "type": "notebook",
    "content": {
        "cells": [{"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None} for cell in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    },
}
path = f"{url}/api/contents/analysis.ipynb"
requests.put(path, json=notebook, headers=headers).raise_for_status()
stored = requests.get(path, headers=headers).json()["content"]

with JupyterKernelClient(server_url=url, token="secret") as kernel:
    replies = [kernel.execute(cell["source"]) for cell in stored["cells"]]
    kernel.execute("import time")
    interrupted = threading.Timer(1, kernel.interrupt)
    interrupted.start()
    replies.append(kernel.execute("try:\n  time.sleep(600)\nexcept KeyboardInterrupt:\n  print('interrupted')", timeout=60))


def summarize(output):
    """Chunks of one stream are cut by time."""
    return {key: value for key, value in output.items() if key != "traceback"}


def join_streams(outputs):
    joined = []
    for output in map(summarize, outputs):
        if joined and output["output_type"] == "stream" and joined[-1].get("name") == output["name"]:
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    return joined


print(json.dumps({
    "statuses": [reply["status"] for reply in replies],
    "outputs": [join_streams(reply["outputs"]) for reply in replies],
    "kernels": requests.get(f"{url}/api/kernels", headers=headers).json(),
}))
