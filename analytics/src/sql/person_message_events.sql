-- What became of the messages to a person, in order of time.
SELECT message_id AS messageId, if(campaign_id = toUUID('00000000-0000-0000-0000-000000000000'), '', toString(campaign_id)) AS campaignId,
    toString(message_events.type) AS type, channel, concat(replaceOne(toString(message_events.timestamp), ' ', 'T'), 'Z') AS timestamp, url, code, reason, platform
FROM message_events FINAL
WHERE workspace_id = {workspace:UUID} AND user_id IN {ids:Array(String)}
ORDER BY message_events.timestamp, message_id
