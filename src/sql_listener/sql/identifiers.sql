-- The profile that an identifier leads to: an internal id before an external one, then ids of merged profiles and further
-- ids, then a linked anonymous id that was sent as a user's. Hashes, since a million profiles have two million
-- identifiers. Part of other statements.
SELECT identifier, argMin(profile, place) AS person
FROM (
    SELECT sipHash128('user', lower(hex(user_id))) AS identifier, lower(hex(user_id)) AS profile, 0 AS place
    FROM $tables$.people FINAL
    WHERE workspace_id = $workspace$ AND NOT is_deleted
    UNION ALL
    SELECT sipHash128('user', external_id) AS identifier, lower(hex(user_id)) AS profile, 1 AS place
    FROM $tables$.people FINAL
    WHERE workspace_id = $workspace$ AND NOT is_deleted AND external_id != ''
    UNION ALL
    SELECT
        sipHash128(if(linked.1 = 3, 'anonymous', 'user'), id) AS identifier,
        user_id AS profile,
        linked.2 AS place
    FROM $tables$.identities FINAL
    ARRAY JOIN if(type = 'anonymous', [(3, 3), (2, 3)], [(2, 2)]) AS linked
    WHERE workspace_id = $workspace$ AND user_id != ''
)
GROUP BY identifier
