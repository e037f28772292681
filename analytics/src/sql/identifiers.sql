-- Which profile does an identifier of events lead to? One row for each pair of them, none twice; of several profiles the one
-- with the smallest `place` counts where an event is of one person. An internal id comes before an external one. Part of
-- other statements; the rule is that of contacts/identity/README.md.
SELECT lower(hex(user_id)) AS token, user_id AS profile, toUInt8(0) AS place
FROM $tables$.people FINAL
WHERE workspace_id = $workspace$ AND NOT is_deleted AND external_id != lower(hex(user_id))
UNION ALL
SELECT external_id AS token, user_id AS profile, toUInt8(1) AS place
FROM $tables$.people FINAL
WHERE workspace_id = $workspace$ AND NOT is_deleted AND external_id != ''
UNION ALL
$linked$
