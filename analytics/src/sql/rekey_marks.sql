-- What was noted as the last block of the copied events, the first time?
SELECT blocks
FROM schema_migration_chunks
WHERE version = {version:UInt32} AND partition_id = 'events_0010'
ORDER BY blocks
LIMIT 1
