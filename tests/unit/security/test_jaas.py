"""JAAS entries: Java's syntax, and errors that quote nothing of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metashell.errors import SourceError
from metashell.security.jaas import JaasEntry, check_module, login_module, parse_jaas
from metashell.security.settings import MECHANISMS

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('M required username="a" password="b";', {"username": "a", "password": "b"}),
        ("M required;", {}),
        ("M required ;", {}),
        ("M REQUIRED a=b;", {"a": "b"}),
        ("M requisite a=b;", {"a": "b"}),
        ("M Sufficient a=b;", {"a": "b"}),
        ("M optional a=b;", {"a": "b"}),
        ('"M" "required" "a"="b";', {"a": "b"}),
        ("  M\n\trequired\r\n a = b\n;  \n", {"a": "b"}),
        ("M required a='b c';", {"a": "b c"}),
        ('M required a="it\'s";', {"a": "it's"}),
        ("M required a='say \"x\"';", {"a": 'say "x"'}),
        (r'M required a="x\"y";', {"a": 'x"y'}),
        (r'M required a="x\\y\q";', {"a": r"x\yq"}),
        (r'M required a="\t\n\a";', {"a": "\t\n\a"}),
        (r'M required a="\101\60\0001\477\8";', {"a": "A0\x001\x2778"}),
        ('M required a="";', {"a": ""}),
        ('M required a="b;c=d//e/*f*/";', {"a": "b;c=d//e/*f*/"}),
        ("M required a=b#$%&!@^*()[]{}<>,.?|~`+-_:;", {"a": "b#$%&!@^*()[]{}<>,.?|~`+-_:"}),
        ("M required a=x\\y;", {"a": "x\\y"}),
        ("M /* it */ required // so\n a=b; // end", {"a": "b"}),
        ("M required a=b/c;\n;", {"a": "b"}),
        ("M required a=b;/* never ends", {"a": "b"}),
        ("M required a=b a=c;", {"a": "c"}),
        ("M required a=é b=日;", {"a": "é", "b": "日"}),
        ('M required a="never closed\n;', {"a": "never closed"}),
    ],
)
def test_syntax(text: str, options: dict[str, str]) -> None:
    """As Kafka's clients read it: quotes, escapes, comments, words."""
    entry = parse_jaas(text, "f: `k`")
    assert ("M", options) == (entry.module, entry.options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: `k` does not name a login module"),
        ("// nothing", "f: `k` does not name a login module"),
        (";", "f: `k` does not name a login module"),
        ("hunter2", "f: `k`: the word after the login module must be"),
        ("M hunter2 a=b;", "f: `k`: the word after the login module must be"),
        ("M = a=b;", "f: `k`: the word after the login module must be"),
        ("M required password=hunter2", "f: `k` does not end with `;`"),
        ("M required", "f: `k` does not end with `;`"),
        ('M required password="hunter2;', "f: `k` does not end with `;`"),
        ("M required password hunter2;", "f: `k`: option 1 is not NAME=VALUE"),
        ("M required a=b hunter2;", "f: `k`: option 2 is not NAME=VALUE"),
        ("M required a=b password=my hunter2;", "f: `k`: option 3 is not NAME=VALUE"),
        ("M required password=;", "f: `k`: option 1 is not NAME=VALUE"),
        ("M required password==hunter2;", "f: `k`: option 1 is not NAME=VALUE"),
        ("M required a=", "f: `k`: option 1 is not NAME=VALUE"),
        ("M required \x85 a=b;", "f: `k`: option 1 is not NAME=VALUE"),
        ("M required a=b; N required;", "f: `k` must hold one login module"),
        ("M required a=b;;", "f: `k` must hold one login module"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    """What is wrong is said without a word of the text."""
    with pytest.raises(SourceError) as caught:
        parse_jaas(text, "f: `k`")
    assert caught.value.message.startswith(message)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_has_a_login_module(mechanism: str) -> None:
    """Also where a build of Kafka's clients has moved it to another package."""
    module = login_module(mechanism)
    check_module(JaasEntry(module, {}), mechanism, "f: `k`")
    check_module(JaasEntry(f"shaded.{module}", {}), mechanism, "f: `k`")


def test_a_login_module_of_another_mechanism() -> None:
    """Both classes are named; what is no class may be a password, and is not."""
    with pytest.raises(SourceError) as caught:
        check_module(JaasEntry(PLAIN, {}), "SCRAM-SHA-512", "f: `k`")
    assert f"f: `k`: SCRAM-SHA-512 logs in with {SCRAM}, not with {PLAIN}" == caught.value.message
    with pytest.raises(SourceError) as caught:
        check_module(JaasEntry("hunter2", {}), "PLAIN", "f: `k`")
    assert f"f: `k`: PLAIN logs in with {PLAIN}, not with something else" == caught.value.message


JAAS_TEXT = st.lists(
    st.sampled_from(
        ["hunter2", PLAIN, "required", "=", ";", '"', "'", "\\", "/", "*", "\n", " ", "a", "\x90"]
    )
    | st.characters(),
    max_size=30,
).map("".join)


@pytest.mark.parametrize("piece", ['"', "/", "/*", "a.", "a=b ", "\\", "\n", ";", "Module."])
def test_a_text_as_long_as_a_file(piece: str) -> None:
    """It is refused with a short sentence."""
    text = "M required " + piece * (1_000_000 // len(piece))
    with pytest.raises(SourceError) as caught:
        parse_jaas(text, "f: `k`")
    assert len(caught.value.message) < 200
    with pytest.raises(SourceError) as caught:
        check_module(JaasEntry(text, {}), "PLAIN", "f: `k`")
    assert len(caught.value.message) < 200


@given(JAAS_TEXT)
def test_any_text(text: str) -> None:
    """An entry or a usage error; no piece of the text in either's words."""
    said = ""
    try:
        entry = parse_jaas(text, "f: `k`")
        said = repr(entry)
        check_module(entry, "PLAIN", "f: `k`")
    except SourceError as error:
        said += f"{error} {error.hint} {error!r}"
    assert "hunter2" not in said


@given(st.text(st.characters(exclude_characters="\r\n")))
def test_a_password_survives_quoting(password: str) -> None:
    """Any password that a line can hold can be written."""
    quoted = password.replace("\\", "\\\\").replace('"', '\\"')
    entry = parse_jaas(f'M required password="{quoted}";', "f")
    assert {"password": password} == entry.options
