-- Which days of events were not copied yet, and how many rows does each have?
SELECT toString(day) AS key_day, toString(toYYYYMM(day)) AS partition_id, count() AS rows
FROM events
WHERE day NOT IN (SELECT day FROM schema_migration_chunks WHERE version = {version:UInt32})
GROUP BY day
ORDER BY day
