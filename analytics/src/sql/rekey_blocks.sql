-- What is the last block of each partition of the events?
SELECT partition_id, toInt64(max(max_block_number)) AS blocks
FROM system.parts
WHERE active AND database = currentDatabase() AND table = 'events'
GROUP BY partition_id
