"""Whether what was read is right: files, the log, the image, and two states compared.

Nothing here prints; what is wrong is a finding or a difference, as data.
"""
