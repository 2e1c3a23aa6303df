"""Generation methods, one file each.

To add a method: write a module here (or anywhere that can be imported) with a function
``method(context: MethodContext) -> Method``. Its file name, with hyphens, is its name on the
command line; a module elsewhere is named by its import path (``my_package.my_method``). A method
with options has them, with their defaults, in a mapping ``OPTIONS`` of its module, and takes their
values from ``context.options``.
"""

from contrafact.families.finforce.methods.lookup import (
    MethodContext,
    Option,
    make_method,
    method_names,
    method_spec,
    open_weights,
)

__all__ = [
    "MethodContext",
    "Option",
    "make_method",
    "method_names",
    "method_spec",
    "open_weights",
]
