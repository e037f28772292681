-- Which person has an identifier that is not the one its events usually carry? Both are hashes, as in insight_rows.sql: to
-- join events by numbers takes a quarter less time than by texts. A person is the external id of a profile, else its
-- internal id. Which profile an identifier leads to is in identifiers.sql. What stands between dollars is fixed fragments:
-- see insights/person.rs.
SELECT
    cityHash64(token) AS key,
    argMin(cityHash64(if(owner.external_id != '', owner.external_id, lower(hex(owned.profile)))), place) AS person
FROM (
    $identifiers$
) AS owned
INNER JOIN (
    SELECT people.user_id AS id, external_id
    FROM people FINAL
    WHERE workspace_id = {workspace:UUID} AND NOT is_deleted
) AS owner ON owner.id = owned.profile
WHERE $which$
GROUP BY key
