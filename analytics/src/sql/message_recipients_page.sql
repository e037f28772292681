-- The latest message to whom in a campaign got so far, and how many they are in all? In the order of their ids.
SELECT lower(hex(user_id)) AS user, count() OVER () AS total
FROM (
    SELECT user_id, $status$ AS latest
    FROM ($outcomes$)
    ORDER BY user_id, occurrence DESC, message_id DESC
    LIMIT 1 BY user_id
)
WHERE {any_status:Bool} OR latest = {status:UInt8}
ORDER BY user
LIMIT {limit:UInt64} OFFSET {offset:UInt64}
