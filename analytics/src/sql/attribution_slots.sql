-- How many events of a name were tracked for known people in each slot of a time? Repeats count.
SELECT intDiv(toUnixTimestamp64Milli(timestamp) - {start_ms:Int64}, {slot_ms:Int64}) AS slot, count() AS events
FROM events
WHERE $events$
GROUP BY slot
ORDER BY slot
