"""The commands of contrafact past one machine: partitions, mapped by Ray Data."""
