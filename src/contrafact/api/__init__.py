"""The Python API: the commands as functions of plain arguments and tables.

``contrafact`` itself exports them (``import contrafact as cf``). They take the commands' options
under the same names and call the same engines; nothing is computed here.
"""
