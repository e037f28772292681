-- Which profiles did something so often? Most events have one user, who is found by the external id: `plain` has these.
-- What stands between dollars is fixed fragments: see events/profiles.rs.
SELECT people.user_id AS profile
FROM (
    SELECT people.user_id, external_id
    FROM people FINAL
    WHERE workspace_id = {workspace:UUID} AND NOT is_deleted
) AS people
LEFT ANY JOIN (
    SELECT if(user_id != '', user_id, service_user_id) AS name, count() AS times
    FROM events FINAL
    WHERE $events$
        AND (user_id != '' OR service_user_id != '')
        AND (user_id = '' OR service_user_id = '' OR user_id = service_user_id)
    GROUP BY name
) AS plain ON plain.name = people.external_id
$mixed$
WHERE $times$ BETWEEN {least:UInt64} AND {most:UInt64}
ORDER BY profile
LIMIT {people_max:UInt64}
