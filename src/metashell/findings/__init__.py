"""Every kind of finding, declared once: severity, words, what to do, and who finds it.

Declarations import nothing heavy. A finder is named by a dotted name and imported at first use.
"""
