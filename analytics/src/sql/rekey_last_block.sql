-- What is the last block of the copied events? Nothing but copies lies up to it.
SELECT toInt64(max(max_block_number)) AS blocks
FROM system.parts
WHERE active AND database = currentDatabase() AND table = {table:String}
