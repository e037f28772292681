-- Was one person sent messages, did they open them, did they click in them?
-- The same conditions as in message_people.sql; how many rows say so does not matter beyond the first.
SELECT count() AS rows
FROM (
    SELECT 1
    FROM message_events
    WHERE workspace_id = {workspace:UUID}
        AND ({any_campaign:Bool} OR campaign_id = {campaign:UUID})
        AND type IN {types:Array(String)}
        AND user_id = {user:String}
        AND ({any_channel:Bool} OR channel = {channel:String})
        AND NOT is_bot
        AND NOT is_test
        AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
        AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
    LIMIT 1
)
