"""Runs the command line in forks of one process that has imported it: real processes, no waiting.

As a program it reads one JSON object a line: the arguments, the environment, the working folder
and the files that standard input, output and error are; it answers each with the exit code.
"""

import json
import os
import sys
from typing import Any


def main() -> None:
    import inspect_ai  # noqa: F401
    import openai  # noqa: F401
    import pandas  # noqa: F401

    import contrafact.cli.main
    import contrafact.finforce.bulk_journal
    import contrafact.finforce.methods
    import contrafact.report.build
    import contrafact.runs.execute  # noqa: F401

    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(request: dict[str, Any]) -> None:
    modes = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_CREAT)
    for number, (path, mode) in enumerate(zip(request["files"], modes, strict=True)):
        os.dup2(os.open(path, mode), number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - the parent's was read
    sys.argv = ["contrafact", *request["arguments"]]
    from contrafact.cli.main import main as command

    try:
        command()
        code: object = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - the interpreter would print it and end with 1
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
