-- Which person has an identifier that is not the one its events usually carry?
-- A person is the external id of a profile, else its internal id. An anonymous id is a key of its own after the
-- character 2; without it, it names its profile as long as no profile has it as an external id.
SELECT key, argMin(person, priority) AS person
FROM (
    SELECT
        links.key AS key,
        links.priority AS priority,
        if(owner.external_id != '', owner.external_id, links.user_id) AS person
    FROM (
        SELECT if(type = 'anonymous', concat('\x02', id), id) AS key, user_id, 1 AS priority
        FROM identities FINAL
        WHERE workspace_id = {workspace:UUID}
        UNION ALL
        SELECT id AS key, user_id, 2 AS priority
        FROM identities FINAL
        WHERE workspace_id = {workspace:UUID} AND type = 'anonymous' AND id NOT IN (
            SELECT external_id FROM people FINAL WHERE workspace_id = {workspace:UUID} AND NOT is_deleted)
        UNION ALL
        SELECT lower(hex(people.user_id)) AS key, key AS user_id, 1 AS priority
        FROM people FINAL
        WHERE workspace_id = {workspace:UUID} AND NOT is_deleted AND external_id != ''
    ) AS links
    INNER JOIN (
        SELECT lower(hex(people.user_id)) AS id, external_id
        FROM people FINAL
        WHERE workspace_id = {workspace:UUID} AND NOT is_deleted
    ) AS owner ON owner.id = links.user_id
)
GROUP BY key
