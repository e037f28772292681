-- Parts that are on the disk of this server and not in their table.
SELECT table, name, ifNull(reason, '') AS reason
FROM system.detached_parts
WHERE database = currentDatabase() AND table IN {tables:Array(String)}
