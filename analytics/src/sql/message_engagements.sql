-- How often were messages of a campaign opened and clicked in, each time counted once however often it was reported?
SELECT
    uniqExactIf(sipHash128(message_id, event_id), type != 'clicked') AS opens,
    uniqExactIf(sipHash128(message_id, event_id), type = 'clicked') AS clicks
FROM message_events
WHERE workspace_id = {workspace:UUID}
    AND campaign_id = {campaign:UUID}
    AND type IN {types:Array(String)}
    AND NOT is_bot
    AND NOT is_test
    $and$
