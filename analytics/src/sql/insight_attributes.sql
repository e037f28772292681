-- What do profiles have at a path of their attributes?
SELECT cityHash64(if(external_id != '', external_id, lower(hex(people.user_id)))) AS person, $raw$ AS attribute
FROM people FINAL
WHERE workspace_id = {workspace:UUID} AND NOT is_deleted
