-- Every event of a person, in order of time.
SELECT event_id AS eventId, event_name AS eventName, user_id AS userId, anonymous_id AS anonymousId,
    service_user_id AS serviceUserId, alias_label AS aliasLabel, alias_name AS aliasName, session_id AS sessionId,
    device_id AS deviceId, concat(replaceOne(toString(events.timestamp), ' ', 'T'), 'Z') AS timestamp,
    concat(replaceOne(toString(received_at), ' ', 'T'), 'Z') AS receivedAt, properties
FROM events FINAL
WHERE workspace_id = {workspace:UUID}
    AND (
        service_user_id IN {ids:Array(String)} OR user_id IN {ids:Array(String)}
        OR (
            service_user_id = '' AND user_id = ''
            AND (anonymous_id IN {ids:Array(String)} OR alias_name IN {ids:Array(String)})
        )
    )
ORDER BY events.timestamp, event_id
