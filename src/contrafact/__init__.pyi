from contrafact.api.runs import load as load
from contrafact.api.runs import run as run
from contrafact.errors import InputError as InputError
from contrafact.errors import ModelError as ModelError

__all__: list[str]
__version__: str
