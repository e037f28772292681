-- The largest version of any copy of a profile or campaign; 0 without one.
SELECT max(version) FROM (SELECT version FROM people UNION ALL SELECT version FROM campaigns)
