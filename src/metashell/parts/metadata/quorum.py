"""The state of the quorum in the log's control records: voters, kraft.version, past leaders.

It is not below ``/image``: a checkpoint writes these records anew.

Source: org.apache.kafka.raft.internals.KRaftControlRecordStateMachine.
"""

from metashell.parts.spec import Change, PartSpec

PART = PartSpec(
    name="quorum",
    table="voters",
    help="The quorum's voters.",
    group="quorum",
    events=(
        Change("KRaftVersionRecord"),
        Change("VotersRecord"),
        Change("LeaderChangeMessage"),
    ),
    fold="metashell.image.quorum_members:quorum_of",
    history="metashell.fs.change_parts:QuorumHistory",
    makers="metashell.image.arrow:voter_columns",
)
