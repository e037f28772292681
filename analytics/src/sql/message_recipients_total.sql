-- Of how many did the latest message of a campaign get so far?
SELECT count() AS total
FROM (
    SELECT user_id, $status$ AS latest
    FROM ($outcomes$)
    ORDER BY user_id, occurrence DESC, message_id DESC
    LIMIT 1 BY user_id
)
WHERE {any_status:Bool} OR latest = {status:UInt8}
