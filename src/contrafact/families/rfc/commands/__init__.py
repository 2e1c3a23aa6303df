"""The commands of the family: ``contrafact rfc …``."""
