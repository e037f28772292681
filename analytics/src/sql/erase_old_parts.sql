-- Parts that were replaced and are still on disk.
SELECT concat(table, ' ', name) AS part
FROM system.parts
WHERE database = currentDatabase() AND NOT active AND table IN {tables:Array(String)}
