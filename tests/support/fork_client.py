"""A command that is run by ``fork_server.py``, whose address comes first: its streams are ours."""

import json
import os
import socket
import sys


def main() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"\0{sys.argv[1]}")
        answers = server.makefile("r", encoding="utf-8")
        assert answers.readline() == "ready\n"
        request = {
            "arguments": sys.argv[2:],
            "environment": dict(os.environ),
            "folder": os.getcwd(),  # noqa: PTH109 - pathlib takes longer to import than all this
        }
        socket.send_fds(server, [json.dumps(request).encode() + b"\n"], [0, 1, 2])
        child = json.loads(answers.readline())
        server.sendall(json.dumps({"wait": child, "blocks": True}).encode() + b"\n")
        code = json.loads(answers.readline())
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
