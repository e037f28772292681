-- Only messages to which, or to whose people, any of this happened: looked up first, so that the others are not put together. Part of other questions.
PREWHERE $key$ IN (
    SELECT $key$
    FROM message_outcomes
    WHERE workspace_id = {workspace:UUID}
        AND campaign_id IN {campaigns:Array(UUID)}
        AND bitAnd(happened, {among:UInt32}) != 0
)
