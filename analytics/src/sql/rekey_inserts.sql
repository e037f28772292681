-- How many inserts of this database run that began so long ago?
SELECT count() AS inserts
FROM system.processes
WHERE query_kind = 'Insert' AND current_database = currentDatabase() AND elapsed > {seconds:Float64}
