-- How many rows of the old table lie in this part? None when a merge took it.
SELECT count() AS rows FROM events_before_0010 WHERE _part = {part:String}
