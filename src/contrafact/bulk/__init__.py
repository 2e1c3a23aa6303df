"""The same commands past one machine: partitions of Parquet or JSON Lines, mapped by Ray Data."""
