-- The outcome of each message, as reports count it. Part of other queries. The rules have three forms, which must agree:
-- this one by times, for any message; `message_plain.sql` by bits, for messages without an event whose time matters;
-- `message_seen.sql` for opened messages. The bits are parameters, named in `messages/outcomes.rs`.
--
-- What came later means what came before: a click is an open, an open a delivery, a delivery a sending. A
-- failure counts where nothing was opened and where it came after the sending: a retry may have sent what
-- had failed, and an unknown outcome counts as sent once a report says so. A bounce likewise, and it
-- undoes the delivery. `class`: 1 control, 2 sent, 3 failed, 4 skipped, 5 cancelled, 6 still to come.
-- A message belongs to the time it left; one of a control group to when it would have; any other to when
-- it was queued. It was decided when it left, failed, or was given up. `place` is the variant's among those named, counted from 1; 0 for any other.
--
-- A variant is known by the cityHash64 of its id (migration 7), which is no identity where callers choose ids: two
-- are made to collide in milliseconds. Here that is who writes the campaign, for at most eight variants of it, and
-- apps may name none but the one they were handed. Two that collide are counted as the first of them, in their
-- author's own reports; no message is lost, and `message_events` keeps the ids. No other caller may choose them.
SELECT
    user_id,
    campaign_id,
    message_id,
    occurrence,
    indexOf(arrayMap(id -> cityHash64(id), {variants:Array(String)}), variant) AS place,
    happened,
    queued_at,
    sent_at,
    delivered_at,
    opened_at,
    clicked_at,
    failed_at,
    unknown_at,
    last_at,
    toInt64(9223372036854775807) AS never,
    least(opened_at, clicked_at) AS seen_at,
    least(sent_at, delivered_at, opened_at, clicked_at) AS reported_at,
    multiIf(
        reported_at < never, reported_at,
        bitAnd(happened, {implies_sent:UInt32}) != 0 AND bitAnd(happened, {any_failed:UInt32}) = 0, last_at,
        never) AS left_at,
    multiIf(
        left_at < never AND (seen_at < never OR failed_at < left_at), 2,
        left_at < never, 3,
        bitAnd(happened, {control:UInt32}) != 0, 1,
        bitAnd(happened, {any_failed:UInt32}) != 0, 3,
        bitAnd(happened, {skipped:UInt32}) != 0, 4,
        bitAnd(happened, {cancelled:UInt32}) != 0, 5,
        6) AS class,
    if(left_at < never, left_at, control_at) AS touched_at,
    multiIf(touched_at < never, touched_at, queued_at < never, queued_at, first_at) AS counted_at,
    multiIf(
        touched_at < never, touched_at,
        class = 3, greatest(failed_at, unknown_at),
        class IN (4, 5), last_at,
        counted_at) AS decided_at,
    bitAnd(happened, {bounced:UInt32}) != 0 AND (left_at = never OR bounced_at >= left_at) AS is_bounced,
    class = 2 AND (seen_at < never OR delivered_at < never AND NOT is_bounced) AS is_delivered,
    class = 2 AND seen_at < never AS is_opened,
    class = 2 AND clicked_at < never AS is_clicked
FROM message_outcomes FINAL
$among$
WHERE workspace_id = {workspace:UUID}
    AND campaign_id IN {campaigns:Array(UUID)}
    $and_outcomes$
