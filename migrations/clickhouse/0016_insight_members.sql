-- People that a question is limited to, by the 12 bytes of their internal ids: PostgreSQL finds them, and the question
-- reads them here. They are gone an hour later.
CREATE TABLE IF NOT EXISTS insight_members {on_cluster} (
    question_id UUID,
    user_id     FixedString(12),
    asked_at    DateTime DEFAULT now()
) ENGINE = {engine:MergeTree}
ORDER BY (question_id, user_id)
TTL asked_at + INTERVAL 1 HOUR
SETTINGS ttl_only_drop_parts = 1, merge_with_ttl_timeout = 600;
