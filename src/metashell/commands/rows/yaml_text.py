"""Values as YAML."""

from __future__ import annotations

from typing import Any


def yaml_text(value: object) -> str:
    """A value of dicts, lists, texts, numbers, booleans and None as a YAML document's text.

    Keys keep their order, nothing is wrapped, and a text that could be read as something else is
    quoted.
    """
    import yaml

    # The one in C is missing where PyYAML was built without libyaml.
    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        value,
        Dumper=dumper,
        sort_keys=False,
        default_flow_style=False,
        allow_unicode=True,
        width=1 << 30,
    )
    return text
