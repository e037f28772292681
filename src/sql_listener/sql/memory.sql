-- The memory of each statement that runs for callers who ask in SQL, the largest first.
SELECT Settings['log_comment'] AS mark, toUInt64(greatest(memory_usage, 0)) AS bytes
FROM system.processes
WHERE startsWith(Settings['log_comment'], {mark:String})
ORDER BY bytes DESC
