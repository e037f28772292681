-- Which tables of migration 10 are there, and what are they sorted by?
SELECT name, sorting_key
FROM system.tables
WHERE database = currentDatabase()
    AND name IN ('events', 'events_0010', 'events_before_0010', 'timeline', 'timeline_0010', 'timeline_before_0010')
