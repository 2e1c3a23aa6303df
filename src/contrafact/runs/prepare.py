"""Everything that can be wrong is found here, before the first call of a model."""

import re
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model

from contrafact.errors import InputError
from contrafact.runs.prepared import BUNDLED, Prepared
from contrafact.runs.settings import RunSettings

__all__ = ["BUNDLED", "Prepared", "open_model", "prepare"]

# Providers word their errors for a terminal: colours, and Rich's tags.
_MARKUP = re.compile(r"\x1b\[[0-9;]*m|\[/?(?:bold|italic|blue|red|dim)\]")


def prepare(settings: RunSettings) -> Prepared:
    """Load and check all that a run names: data, examples, prompts, methods.

    Raises:
        InputError: for the first thing that is wrong.
    """
    # Each family imports what it alone needs.
    if settings.task == "finforce":
        from contrafact.families.finforce.run import prepare_finforce

        return prepare_finforce(settings)
    if settings.task == "cobe":
        from contrafact.families.cobe.run import prepare_cobe

        return prepare_cobe(settings)
    from contrafact.families.rfc.run import prepare_rfc

    return prepare_rfc(settings)


def open_model(name: str, *, config: GenerateConfig, **model_args: Any) -> Model:
    """Return an Inspect model, or say in one line why it cannot be used.

    Raises:
        InputError: if there is no such provider, its package or key is missing, or a local
            model's file is not there.
    """
    try:
        return get_model(name, config=config, **model_args)
    except InputError:
        raise
    except Exception as error:
        told = " ".join(_MARKUP.sub("", str(error)).split()).removeprefix("ERROR: ") or repr(error)
        raise InputError(
            f"cannot use the model '{name}': {told[:400].rstrip('.')}",
            hint="check the name (provider/model), its package and its key",
        ) from error
