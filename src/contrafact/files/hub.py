"""Access to the Hugging Face hub by its own client, with one-line errors.

The package ``huggingface_hub`` (extra ``hub``) does the transport and its retries, at
``$HF_ENDPOINT`` and with the user's token (``$HF_TOKEN``, or ``hf auth login``), which is never
shown. Its usage statistics are off.
"""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from contrafact import __version__
from contrafact.errors import InputError

__all__ = ["asked_of_hub", "hub_api", "hub_client"]

_Result = TypeVar("_Result")


def hub_client() -> Any:
    """Return the module ``huggingface_hub``, silenced; `InputError` if it is not installed."""
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read when it is imported
    try:
        import huggingface_hub
        from huggingface_hub import constants, utils
    except ImportError as error:
        raise InputError(
            "datasets of the hub need huggingface_hub", hint="pip install 'contrafact[hub]'"
        ) from error
    constants.HF_HUB_DISABLE_TELEMETRY = True  # if it was imported before
    utils.disable_progress_bars()
    utils.logging.set_verbosity_error()  # hides notes on retries
    return huggingface_hub


def hub_api() -> Any:
    """Return the client of the hub at ``$HF_ENDPOINT``."""
    return hub_client().HfApi(
        endpoint=_endpoint(), library_name="contrafact", library_version=__version__
    )


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def asked_of_hub(
    call: Callable[[], _Result],
    kind: Literal["dataset", "model"],
    repository: str,
    revision: str = "",
    *,
    source: str,
) -> _Result:
    """Return the result of a call to the hub's client.

    Args:
        source: The name that the user gave, for the message.

    Raises:
        InputError: The call failed; the message has one line, without the library's text, which
            may hold private data.
    """
    import httpx2
    from huggingface_hub import errors

    try:
        return call()
    except (
        errors.HfHubHTTPError,
        errors.EntryNotFoundError,
        httpx2.TransportError,
        ConnectionError,
        TimeoutError,
    ) as error:
        problem, hint = _failure(error, kind, repository, revision)
        raise InputError(problem, file=source, hint=hint) from None


def _failure(error: Exception, kind: str, repository: str, revision: str) -> tuple[str, str]:
    from huggingface_hub import errors

    status = int(getattr(getattr(error, "response", None), "status_code", 0))
    page = f"{_endpoint()}/{'datasets/' if kind == 'dataset' else ''}{repository}"
    signed_in = "(or run hf auth login)"
    match error:
        case errors.GatedRepoError():
            hint = f"ask for it at {page}, and set HF_TOKEN {signed_in}"
            return f"access to the {kind} is gated", hint
        case errors.RepositoryNotFoundError():
            hint = f"check the name; for a private one set HF_TOKEN {signed_in}"
            return f"the hub has no such {kind}, or it is private", hint
        case errors.RevisionNotFoundError():
            return f"there is no revision '{revision}'", f"see {page}/commits"
        case errors.OfflineModeIsEnabled():
            hint = "unset it for the first download, or name a file"
            return "is not in the cache, and HF_HUB_OFFLINE is set", hint
        case errors.EntryNotFoundError() if not isinstance(error, errors.LocalEntryNotFoundError):
            return "a file cannot be downloaded from the hub", f"look at {page}, and try again"
        case errors.HfHubHTTPError() if status in (401, 403):
            return f"the hub refuses access ({status})", "check HF_TOKEN and its permissions"
        case errors.HfHubHTTPError():
            hint = "run the command again: it goes on where it stopped"
            return f"the hub answered {status}", hint
        case _:
            problem = f"the hub cannot be reached at {_endpoint()} ({type(error).__name__})"
            return problem, "check the connection and run the command again, or name a file"
