-- To whom a number was last written, for opt-ins that come back by text.

create index message_last_text on message (workspace_id, user_id, sent_at)
    where sent_at is not null and channel in ('sms', 'whatsapp', 'viber');
