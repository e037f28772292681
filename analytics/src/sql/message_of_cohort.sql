-- Is this a message of the time asked about? Part of other questions.
AND message_id IN (SELECT message_id FROM ($outcomes$) WHERE is_opened)
