-- Is the message to one of these people? They are named by 12 bytes each, one after the other, in base64:
-- too many for a list. Part of other questions.
AND user_id IN (
    SELECT toFixedString(substring(base64Decode('$people$'), 1 + number * 12, 12), 12)
    FROM numbers({people:UInt64})
)
