-- The memory of each statement that runs for callers who ask in SQL, the largest first; marks without signatures.
SELECT substring(Settings['log_comment'], 1, 86) AS mark, toUInt64(greatest(memory_usage, 0)) AS bytes
FROM system.processes
WHERE startsWith(Settings['log_comment'], {mark:String})
ORDER BY bytes DESC
