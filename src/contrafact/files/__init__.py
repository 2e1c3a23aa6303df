"""Files in and out: rows, tables, whole-or-nothing writes, the cache, downloads."""
