-- Whom a channel's consent leaves out: audiences count everybody, and then look at these few. Those who must
-- opt in are not asked about this way.
create index channel_consent_exceptions on channel_consent (workspace_id, channel, user_id)
    where status = 'unsubscribed' or not is_valid;
