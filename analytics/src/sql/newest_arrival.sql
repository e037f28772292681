-- What is the largest arrival number of what is stored?
-- Every process goes on after the largest number it finds, so the largest is among what was written last: only
-- parts written within a day of the newest one are looked at.
WITH fresh AS (
    SELECT table, name
    FROM system.parts
    WHERE active
        AND database = currentDatabase()
        AND table IN ('events', 'message_events')
        AND modification_time >= (
            SELECT max(modification_time) - INTERVAL 1 DAY
            FROM system.parts
            WHERE active AND database = currentDatabase() AND table IN ('events', 'message_events')
        )
)
SELECT max(seq) AS seq
FROM (
    SELECT seq FROM events WHERE _part IN (SELECT name FROM fresh WHERE table = 'events')
    UNION ALL
    SELECT seq FROM message_events WHERE _part IN (SELECT name FROM fresh WHERE table = 'message_events')
)
