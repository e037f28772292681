-- How many inserts run that began so long ago?
SELECT count() AS inserts
FROM system.processes
WHERE query_kind = 'Insert' AND elapsed > {seconds:Float64}
