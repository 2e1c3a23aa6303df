"""The commands of the family: ``contrafact finforce …``."""
