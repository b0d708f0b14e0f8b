"""Tables as files: CSV and its kin, Parquet and npz in; CSV, JSON and Parquet out."""

from xspn.data.read import ReadOptions, read_table_file
from xspn.data.table_file import TableFile
from xspn.data.write import write_table_file

__all__ = ["ReadOptions", "TableFile", "read_table_file", "write_table_file"]
