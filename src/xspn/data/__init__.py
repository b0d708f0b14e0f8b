"""Tables: user input converted once to rows of codes with a schema; reading and writing files."""

from xspn.data.files import ReadOptions, read_table, read_table_file
from xspn.data.schema import Schema
from xspn.data.table import Table
from xspn.data.table_file import TableFile
from xspn.data.write import write_table_file

__all__ = ["ReadOptions", "Schema", "Table", "TableFile", "read_table", "read_table_file", "write_table_file"]
