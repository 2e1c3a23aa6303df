"""Everything that can be wrong is found here, before the first call of a model."""

from contrafact.runs.prepared import BUNDLED, Prepared
from contrafact.runs.settings import RunSettings

__all__ = ["BUNDLED", "Prepared", "prepare"]


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
