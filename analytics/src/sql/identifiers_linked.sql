-- Which profiles have an identifier that is not their own id: ids of profiles that were merged into them, aliases,
-- anonymous ids? Of deleted profiles none counts. An anonymous id is a token after the character 2, which no id holds;
-- without it, it names its profile as long as no profile has it as an id. No pair is answered twice, here or beside the
-- profiles' own ids. Part of other statements.
SELECT linked.1 AS token, toFixedString(substring(unhex(links.user_id), 1, 12), 12) AS profile, linked.2 AS place
FROM (
    SELECT type, id, user_id, names_users
    FROM $tables$.identities FINAL
    WHERE workspace_id = $workspace$ AND user_id != ''
) AS links
ARRAY JOIN multiIf(
    type != 'anonymous', [(id, toUInt8(2))],
    names_users, [(concat('\x02', id), toUInt8(2)), (id, toUInt8(3))],
    [(concat('\x02', id), toUInt8(2))]) AS linked
WHERE profile NOT IN (
        SELECT user_id
        FROM $tables$.people FINAL
        WHERE workspace_id = $workspace$ AND is_deleted)
    AND (token, profile) NOT IN (
        SELECT external_id, user_id
        FROM $tables$.people FINAL
        WHERE workspace_id = $workspace$ AND NOT is_deleted AND external_id IN (
            SELECT id FROM $tables$.identities WHERE workspace_id = $workspace$))
    AND (place != 3
        OR token NOT IN (
            SELECT external_id
            FROM $tables$.people FINAL
            WHERE workspace_id = $workspace$ AND NOT is_deleted AND external_id IN (
                SELECT id FROM $tables$.identities WHERE workspace_id = $workspace$))
        AND token NOT IN (
            SELECT id
            FROM $tables$.identities FINAL
            WHERE workspace_id = $workspace$ AND type != 'anonymous' AND user_id != ''))
