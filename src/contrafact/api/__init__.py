"""The Python face: the commands, called with plain arguments and tables.

``contrafact`` itself offers them (``import contrafact as cf``). They take what the command takes,
under the same names, and call the same engines; nothing is computed here.
"""
