"""What a command is, how a line becomes one, and how it runs. No module here is a command."""
