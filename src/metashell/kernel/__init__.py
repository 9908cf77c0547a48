"""The kernel: inner loops in C, called by ctypes. Nothing needs it: numpy does the same, slower."""
