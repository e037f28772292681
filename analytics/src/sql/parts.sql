-- Active parts of each table on this server.
SELECT table, count() AS parts
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
