-- Which days have events, by the key of their table?
SELECT DISTINCT toString(day) AS key_day FROM events ORDER BY key_day
