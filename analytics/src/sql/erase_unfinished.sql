-- Mutations that are under way, and why the last of them failed.
SELECT count() AS unfinished, anyLast(latest_fail_reason) AS problem
FROM system.mutations
WHERE database = currentDatabase() AND NOT is_done AND NOT is_killed
