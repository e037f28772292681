-- Of some people, who was sent messages, opened them or clicked in them, by each of several filters?
-- The same conditions as in message_people.sql.
-- What stands between dollars is fixed fragments, one a filter: see messages/people.rs.
SELECT
    user_id,
    [$counts$] AS times
FROM message_events
WHERE workspace_id = {workspace:UUID}
    AND user_id IN {users:Array(String)}
    AND NOT is_bot
    AND NOT is_test
GROUP BY user_id
