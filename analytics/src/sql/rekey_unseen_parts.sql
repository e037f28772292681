-- Which parts of the events may hold rows that came before the views were made?
SELECT name, rows
FROM system.parts
WHERE active
    AND database = currentDatabase()
    AND table = 'events'
    AND max_block_number > {after:Int64}
    AND min_block_number <= {until:Int64}
ORDER BY name
