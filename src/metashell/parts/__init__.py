"""The parts of the metadata and of coordinators' logs, each declared once, in a module of its own.

The modules are those of `metashell.parts.metadata` and `metashell.parts.coordinators`.

Everything that lists parts, in whatever package, derives its list from these declarations:
`metashell.parts.known` finds them, `metashell.parts.spec` says what one consists of and
`metashell.parts.view` what follows from it for a row. A declaration imports neither numpy nor
pyarrow; what it needs from a higher layer it names, to be resolved at first use.
"""
