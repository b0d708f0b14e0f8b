"""Tables as files: CSV and its kin, Parquet and npz in; CSV, JSON and Parquet out."""

from xspn.io.tables.read import ReadOptions, read_table_file
from xspn.io.tables.table_file import TableFile
from xspn.io.tables.write import write_table_file

__all__ = ["ReadOptions", "TableFile", "read_table_file", "write_table_file"]
