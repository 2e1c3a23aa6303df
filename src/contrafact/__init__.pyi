from contrafact.api.judges import agreement as agreement
from contrafact.api.judges import correct as correct
from contrafact.api.judges import exam as exam
from contrafact.api.models import perplexity as perplexity
from contrafact.api.models import whatif as whatif
from contrafact.api.runs import load as load
from contrafact.api.runs import run as run
from contrafact.api.runs import score as score
from contrafact.api.texts import check as check
from contrafact.api.texts import generate as generate
from contrafact.api.texts import rewrite as rewrite
from contrafact.api.texts import stories as stories
from contrafact.api.texts import synth as synth
from contrafact.errors import InputError as InputError
from contrafact.errors import ModelError as ModelError

__all__: list[str]
__version__: str
