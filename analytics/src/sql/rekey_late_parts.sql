-- Which parts of the old table may hold rows that came while it was copied?
SELECT parts.name AS name, parts.rows AS rows
FROM system.parts AS parts
LEFT JOIN (
    SELECT partition_id, min(blocks) AS blocks, count() > 0 AS is_copied
    FROM schema_migration_chunks
    WHERE version = {version:UInt32} AND partition_id != 'events_0010'
    GROUP BY partition_id
) AS copied ON parts.partition_id = copied.partition_id
WHERE parts.active
    AND parts.database = currentDatabase()
    AND parts.table = 'events_before_0010'
    AND (NOT copied.is_copied OR parts.max_block_number > copied.blocks)
ORDER BY parts.name
