-- What time is it there?
SELECT toUnixTimestamp64Milli(now64(3)) AS now_ms
