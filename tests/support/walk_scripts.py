"""The walks: what is opened, and what is pressed there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import metashell
from metashell.sources.opening import open_fleet
from metashell.tui.session import ExplorerSession
from support.fixtures import DEMO, SAMPLE, fixture
from support.fleets import backups, torn
from support.hostile import NAMES, write_cluster
from support.logs import make_directory, topic_log
from support.node_sources import D1, D2, on
from support.pilot import WIDE, session_on
from support.walks import Walk

_Opening = Callable[[Path], ExplorerSession]


def _on(source: Path) -> _Opening:
    return lambda _: session_on(source)


def _file(name: str) -> _Opening:
    return lambda _: session_on(lambda: metashell.open_file(fixture(name).input))


def _fleet(parent: Path) -> ExplorerSession:
    directory = backups(parent / "fleet")
    (directory / "[b]broken").mkdir()
    paths = [str(path) for path in sorted(directory.iterdir())]
    return session_on(lambda: open_fleet(paths))  # type: ignore[arg-type,return-value]


def _node(_: Path) -> ExplorerSession:
    return on(D1, D2)


def _empty(parent: Path) -> ExplorerSession:
    return session_on(make_directory(parent, (0, b"")))


def _few(parent: Path) -> ExplorerSession:
    return session_on(make_directory(parent, (0, b"".join(topic_log(3)))))


def _torn(parent: Path) -> ExplorerSession:
    return session_on(torn("real-44-broker-down", parent, 13))


def _hostile(parent: Path) -> ExplorerSession:
    return session_on(write_cluster(parent, NAMES))


_sample = _on(SAMPLE)
_demo = _on(DEMO)
_old = _on(fixture("real-40-static").directory)

WALKS: Final = (
    Walk(
        "tree-keys",
        _sample,
        "down j up k right l left h end home pagedown pageup enter right down down enter backspace "
        "tab backspace shift+tab tab down end home i type:to down up enter",
    ),
    Walk(
        "tree-mouse",
        _demo,
        "click:5,5 click:5,5 click:2,6 on2:image on:topics click:60,8 on2:acls wheel:10,10 "
        "wheelup:10,10 wheel:60,10 click:1,0 on:/ click:40,1 size:60x15 size:120x12 size:80x24",
    ),
    Walk(
        "node-modes",
        _demo,
        "go:/image/topics/byName/csv-imports v a r h d d h v tab a r down left right home "
        "end pageup "
        "pagedown w up v h enter left_curly_bracket right_curly_bracket",
        WIDE,
    ),
    Walk(
        "node-modes-small",
        _demo,
        "go:/image/topics/byName/csv-imports/0 v a r h d d tab h d down enter alt+left alt+right z "
        "z w w tab shift+tab r d v y Y ctrl+c",
    ),
    Walk(
        "time",
        _demo,
        "go:/image/topics/byName/csv-imports comma comma full_stop left_square_bracket "
        "right_square_bracket equals_sign escape less_than_sign less_than_sign greater_than_sign "
        "left_parenthesis right_parenthesis left_curly_bracket right_curly_bracket "
        "left_square_bracket E E full_stop right_square_bracket",
    ),
    Walk(
        "timeline",
        _demo,
        "t left right shift+left ctrl+left shift+right ctrl+right home left end right a a plus "
        "equals_sign minus minus escape t t click:20,22 hover:30,22 on:end",
    ),
    Walk(
        "timeline-wide",
        _demo,
        "at:1891 t left left a left a hover:50,45 click:50,45 click:10,46 hover:11,46 "
        "hover:10,3 comma at "
        "type:1606 enter at type:nonsense enter escape at escape at type:12:33 enter E",
        WIDE,
    ),
    Walk(
        "records-keys",
        _demo,
        "2 down j up k pagedown pageup J K right left end home d tab down shift+tab d enter n N m "
        "h h",
    ),
    Walk(
        "records-filters",
        _demo,
        "2 a tab type:topic down up enter escape a type:topic space type:csv* enter n a "
        "'type:type PartitionChange' enter tab left right left enter escape backspace "
        "right delete c "
        "a 'type:offset x' enter escape a 'type:offset 100..110' enter",
    ),
    Walk(
        "records-mouse",
        _demo,
        "2 a 'type:topic csv*' enter a 'type:broker 104' enter on:broker escape on:topic escape "
        "on:× click:10,8 wheel:10,10 wheelup:10,10 h on:NoOp "
        "slash type:leader enter escape",
        WIDE,
    ),
    Walk(
        "health",
        _demo,
        "3 down up tab down end home m 3 exclamation_mark escape i d d r s s alt+left",
    ),
    Walk(
        "health-wide",
        _demo,
        "3 down down down enter up tab shift+tab down s exclamation_mark escape escape",
        WIDE,
    ),
    Walk(
        "quorum",
        _demo,
        "4 down tab down tab enter 4 s c escape z z at:1000 E f1 f1 y Y",
    ),
    Walk("quorum-wide", _sample, "4 tab down tab down on:Follower s s at:100 r enter", WIDE),
    Walk(
        "brokers",
        _demo,
        "5 down a down a n w enter escape backspace r a w backspace r enter backspace tab down "
        "enter at:1891 w",
    ),
    Walk(
        "brokers-wide",
        _demo,
        "5 a w tab down enter backspace n on:leaders on:leaders on:state s c space down down space "
        "enter c escape r down a n r E",
        WIDE,
    ),
    Walk(
        "groups",
        _node,
        "7 down down up enter down tab down backspace tab down i enter backspace r s c escape x "
        "escape slash type:a enter escape",
    ),
    Walk(
        "groups-wide",
        _node,
        "7 end home enter tab tab end home down backspace end enter backspace tab end i r y Y "
        "at:100 E",
        WIDE,
    ),
    Walk(
        "groups-tree",
        _node,
        "i type:gr enter right down right down enter tab down r v a h 2 7 1 R escape 5 3",
        WIDE,
    ),
    Walk(
        "fleet",
        _fleet,
        "enter down down enter 6 v u down s c escape 2 3 4 5 7 6 enter left_square_bracket "
        "slash type:x escape",
    ),
    Walk(
        "fleet-wide",
        _fleet,
        "v u end enter 3 6 home down enter right down t left escape 6 up enter 2 5 alt+left f "
        "type:topic escape escape",
        WIDE,
    ),
    Walk(
        "find",
        _demo,
        "f type:csv down down up pagedown pageup end home enter f type:-off tab down x "
        "escape up escape "
        "f type:zzzz down ctrl+t tab escape escape f 'type:-bad' escape escape",
    ),
    Walk(
        "find-wide",
        _demo,
        "go:/image/topics f 'type:-config ret*' down enter alt+left f type:pay ctrl+t ctrl+t down "
        "end f1 f1 escape escape f 'type:-name * -count' escape escape",
        WIDE,
    ),
    Walk(
        "go-to",
        _demo,
        "g type:/im tab tab down up escape g type:/nowhere enter escape g type:csv-imp tab enter "
        "g type:.. enter g down enter",
    ),
    Walk(
        "command",
        _demo,
        "colon type:top tab down up escape escape colon type:topics enter escape shift+tab "
        "down pagedown "
        "pageup slash type:csv enter escape y Y z z x escape end home",
    ),
    Walk(
        "command-output",
        _demo,
        "colon 'type:cat /image/cluster/broker*' enter escape w down colon type:no-such "
        "enter colon "
        "'type:ls /image' enter shift+tab R escape t escape colon shift+tab q",
    ),
    Walk(
        "command-beneath",
        _node,
        "colon type:ls enter shift+tab 2 colon shift+tab 3 colon shift+tab 4 colon shift+tab 5 "
        "colon shift+tab 6 colon shift+tab 7 colon shift+tab 1 colon shift+tab question_mark",
        WIDE,
    ),
    Walk(
        "help-palette",
        _demo,
        "f1 f1 question_mark 2 3 4 5 question_mark ctrl+p type:rec enter ctrl+p type:theme escape "
        "ctrl+l p slash type:cl enter escape 1 slash type:zz down escape",
    ),
    Walk(
        "export",
        _demo,
        "go:/image/topics/byName x tab tab type:.csv ctrl+s x enter x tab down enter escape x "
        "shift+tab enter down enter tab tab enter down enter ctrl+s escape x backspace f1 "
        "escape escape",
    ),
    Walk(
        "relations",
        _demo,
        "go:/image/topics/byName/csv-imports R down j up k right l left h enter R R R q R escape R "
        "end enter alt+left alt+left alt+right",
    ),
    Walk(
        "bookmarks",
        _demo,
        "B escape b go:/image/topics at:1891 b B j k down enter B delete B d B B q b b B escape q",
    ),
    Walk(
        "tables",
        _demo,
        "go:/image/topics/byName tab s s s right s c down space down space enter c escape end home "
        "pagedown pageup enter backspace on:topic on:configs on2:sessions",
        WIDE,
    ),
    Walk(
        "small",
        _few,
        "right enter 2 end d 3 4 5 6 7 t left left home left_square_bracket E x escape",
    ),
    Walk(
        "empty",
        _empty,
        "right 2 d a escape 3 4 5 t left at type:3 enter f type:x escape escape x escape",
    ),
    Walk(
        "torn",
        _torn,
        "2 end d 3 down tab enter 3 d 4 5 1 right_parenthesis left_parenthesis t home E",
        WIDE,
    ),
    Walk(
        "hostile",
        _hostile,
        "go:/image/topics/byName tab down down end enter v r 2 down end d 3 5 down enter f "
        "type:x down "
        "escape escape",
    ),
    Walk(
        "old",
        _old,
        "2 end d 3 d 4 5 down enter 1 go:/image/cluster tab down enter left_square_bracket r h",
    ),
    Walk(
        "checkpoint",
        _file("all-records-checkpoint"),
        "2 down d end 3 4 5 1 go:/image/acls tab down enter r h left_square_bracket at "
        "type:5 enter R",
        WIDE,
    ),
    Walk("segment", _file("all-records-segment"), "2 d down down J K end 3 4 5 1 t home right E"),
    Walk(
        "output-keys",
        _demo,
        "colon 'type:find /image/topics' enter pagedown pageup shift+tab down home end y Y "
        "z z colon "
        "slash type:csv enter shift+tab x escape question_mark question_mark t escape colon "
        "type:topics enter slash type:csv enter y Y z R escape super+c colon type:ls enter "
        "shift+tab "
        "question_mark question_mark t colon type:ls enter shift+tab q",
    ),
    Walk(
        "output-beneath",
        _node,
        "colon type:ls enter shift+tab 3 colon type:ls enter shift+tab 4 colon type:ls enter "
        "shift+tab 5 colon type:ls enter shift+tab 6 colon type:ls enter shift+tab 7 colon type:ls "
        "enter shift+tab 1",
    ),
    Walk(
        "chips",
        _demo,
        "2 h h a 'type:topic csv*' enter a 'type:broker 104' enter shift+tab left right left enter "
        "escape right backspace delete tab end k k m alt+left 2 slash type:leader enter home n n N",
    ),
    Walk(
        "lines",
        _demo,
        "go:/image/topics/byName/csv-imports/0 a tab size:40x12 down pagedown right left up end "
        "pageup home w right right left end up w go:/image/topics/byName tab d a d",
    ),
    Walk(
        "boxes",
        _demo,
        "b B question_mark question_mark q B d escape f type:-na escape escape i type:to escape R "
        "down down right down h escape 5 shift+tab tab shift+tab",
    ),
)
"""All of them."""
