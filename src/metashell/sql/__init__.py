"""A cluster's metadata as SQL tables: which there are, how they are made, DuckDB.

`tables` says what each table holds and makes the columns that are asked for; `duck` runs statements
over them, and is the only module that imports DuckDB. Nothing here knows of a command.
"""
