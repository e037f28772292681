-- Stores which profiles identifiers belong to.
INSERT INTO identities (workspace_id, type, id, user_id, version, names_users)
SELECT toUUID(entry.1), entry.2, entry.3, entry.4, entry.5, entry.6
FROM (
    SELECT arrayJoin(arrayZip(
        {workspaces:Array(String)}, {types:Array(String)}, {ids:Array(String)}, {users:Array(String)},
        {versions:Array(UInt64)}, {name_users:Array(UInt8)})) AS entry
)
