-- How far did the latest messages of a campaign to each of these people get? In the order of their ids, newest first.
SELECT
    lower(hex(user_id)) AS user,
    toString(message_id) AS message,
    occurrence,
    toUInt8(place) AS variant,
    $status$ AS status,
    if(queued_at < never, queued_at, NULL) AS queued_ms,
    if(class = 2, left_at, NULL) AS sent_ms,
    if(is_delivered, least(delivered_at, seen_at), NULL) AS delivered_ms,
    if(is_opened, seen_at, NULL) AS opened_ms,
    if(is_clicked, clicked_at, NULL) AS clicked_ms,
    if(class = 3, greatest(failed_at, unknown_at), NULL) AS failed_ms,
    last_at AS last_ms
FROM ($outcomes$)
ORDER BY user_id, occurrence DESC, message_id DESC
LIMIT {messages_max:UInt64} BY user_id
