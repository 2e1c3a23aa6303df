"""Generation methods, one file each.

To add a method: write a module here (or anywhere that can be imported) with a function
``method(context: MethodContext) -> Method``. Its file name, with hyphens, is its name on the
command line; a module elsewhere is named by its import path (``my_package.my_method``).
"""

from contrafact.finforce.methods.lookup import MethodContext, make_method, method_names

__all__ = ["MethodContext", "make_method", "method_names"]
