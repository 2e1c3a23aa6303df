"""The stages that make the benchmark, one file each (RFC-BENCH, section 2.2)."""
