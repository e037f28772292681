-- Who is in a campaign? In the order of their ids, which is that of the key: no more is read than is answered.
SELECT lower(hex(user_id)) AS user
FROM (
    SELECT user_id
    FROM message_outcomes
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id = {campaign:UUID}
    ORDER BY user_id
    LIMIT 1 BY user_id
    LIMIT {limit:UInt64} OFFSET {offset:UInt64}
)
