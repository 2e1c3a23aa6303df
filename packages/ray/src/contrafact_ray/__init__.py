"""The commands of contrafact on several machines: partitions, processed by Ray Data."""
