"""Commands whose answer is rows: how rows are asked for, chosen, and written."""
