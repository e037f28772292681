-- When a message left as far as anybody tells, or would have, were it not held out: one column instead of five
-- where that is all a report wants of times.
ALTER TABLE message_outcomes {on_cluster}
    ADD COLUMN IF NOT EXISTS touched_at SimpleAggregateFunction(min, Int64)
        DEFAULT least(sent_at, delivered_at, opened_at, clicked_at, control_at) CODEC(Delta(8), LZ4);
