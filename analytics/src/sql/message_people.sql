-- To whom were messages sent, who opened them, who clicked in them?
-- A person is named by the internal id alone, answered as its 12 bytes; one row of any of the types is enough, so repeats do not
-- matter and nothing is read with FINAL. What machines opened and what was only a test does not count.
SELECT toFixedString(substring(unhex(user_id), 1, 12), 12) AS profile
FROM message_events
WHERE workspace_id = {workspace:UUID}
    AND ({any_campaign:Bool} OR campaign_id = {campaign:UUID})
    AND type IN {types:Array(String)}
    AND ({any_channel:Bool} OR channel = {channel:String})
    AND ({any_user:Bool} OR user_id IN {among:Array(String)})
    AND match(user_id, '^[0-9a-f]{24}$')
    AND NOT is_bot
    AND NOT is_test
    AND timestamp >= fromUnixTimestamp64Milli({start_ms:Int64}, 'UTC')
    AND timestamp <= fromUnixTimestamp64Milli({end_ms:Int64}, 'UTC')
GROUP BY user_id
LIMIT {people_max:UInt64}
