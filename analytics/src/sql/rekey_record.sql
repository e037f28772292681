-- A day of events was copied.
INSERT INTO schema_migration_chunks (version, day, partition_id, blocks)
SELECT {version:UInt32}, {day:Date}, {partition:String}, {blocks:Int64}
