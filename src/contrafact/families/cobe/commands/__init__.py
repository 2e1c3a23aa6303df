"""The commands of the family: ``contrafact cobe …``."""
