-- Which profiles did something at all? In the order of their ids, each once: the table is in this order, and so is the
-- key by which they are looked up. What stands between dollars is fixed fragments: see events/profiles.rs.
SELECT people.user_id AS profile
FROM people FINAL
WHERE workspace_id = {workspace:UUID}
    AND NOT is_deleted
    AND (external_id IN ($tokens$)
        OR lower(hex(people.user_id)) IN ($tokens$)
        $or_linked$)
ORDER BY people.user_id
LIMIT {people_max:UInt64}
