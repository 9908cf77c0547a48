"""The judgement: evidence becomes findings, the worst first, causes before effects.

`metashell.findings` declares the kinds. Finders here and in `metashell.checks` find them.
"""
