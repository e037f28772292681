-- Stores which profiles identifiers belong to.
INSERT INTO identities (workspace_id, type, id, user_id, version)
SELECT toUUID(entry.1), entry.2, entry.3, entry.4, entry.5
FROM (
    SELECT arrayJoin(arrayZip(
        {workspaces:Array(String)}, {types:Array(String)}, {ids:Array(String)}, {users:Array(String)},
        {versions:Array(UInt64)})) AS entry
)
