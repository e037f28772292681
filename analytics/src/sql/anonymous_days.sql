-- Which days have events without a user whose entries by anonymous id are not written yet?
SELECT DISTINCT toString(day) AS key_day
FROM events
WHERE user_id = '' AND service_user_id = '' AND anonymous_id != ''
    AND day NOT IN (SELECT day FROM timeline_anonymous_days)
ORDER BY key_day
