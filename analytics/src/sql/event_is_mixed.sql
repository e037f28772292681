-- Is there an event that is not of one user who is no profile's internal id and linked to none?
SELECT count()
FROM (
    SELECT 1
    FROM events
    WHERE $events$
        AND $is_mixed$
    LIMIT 1
)
