"""The definition of a command, how a line becomes one, how it runs. No module here is a command."""
