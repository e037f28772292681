-- Which events of a name may be credited to messages of a campaign, and which messages did their people get within the
-- windows before? Of orders only the first event of each counts. Amounts are in ten thousandths. A message is its
-- campaign's place among those named, recipient, id, occurrence, variant, class and time.
SELECT
    at_ms,
    properties,
    is_paid,
    amount,
    currency,
    base_amount,
    base_currency,
    arrayFilter(
        touch -> at_ms >= touch.7 AND at_ms - touch.7 <= {windows:Array(Int64)}[touch.1 + 1],
        reached.touches) AS touches
FROM (
    SELECT
        $identifiers$ AS identifiers,
        toUnixTimestamp64Milli(timestamp) AS at_ms,
        if({with_properties:Bool}, events.properties, '') AS properties,
        has_revenue != 0 AS is_paid,
        reinterpretAsInt64(revenue) AS amount,
        toString(events.currency) AS currency,
        reinterpretAsInt64(base_revenue) AS base_amount,
        toString(events.base_currency) AS base_currency
    FROM events FINAL
    WHERE $events$
        $and$
) AS tracked
INNER JOIN (
    SELECT named.identifiers AS identifiers, groupArray(touch) AS touches
    FROM (
        $people$
    ) AS named
    INNER JOIN (
        SELECT
            if(same.survivor = toFixedString('', 12), sent.user_id, same.survivor) AS person,
            sent.touch AS touch
        FROM (
            SELECT
                user_id,
                tuple(
                    toUInt16(indexOf({campaigns:Array(UUID)}, campaign_id) - 1),
                    user_id,
                    reinterpretAsUInt128(message_id),
                    occurrence,
                    toUInt8(place),
                    toUInt8(class),
                    if(class <= 2, touched_at, decided_at)) AS touch
            FROM ($outcomes$)
            WHERE (class <= 2 OR class <= 5 AND place != 0 AND campaign_id = {unsent_of:UUID})
                AND touch.7 >= {touched_from_ms:Int64}
                AND touch.7 <= {end_ms:Int64}
        ) AS sent
        LEFT ANY JOIN (
            $merged$
        ) AS same ON same.merged = sent.user_id
    ) AS got ON got.person = named.person
    GROUP BY identifiers
    HAVING countIf(touch.1 = 0) > 0
) AS reached ON reached.identifiers = tracked.identifiers
WHERE arrayExists(touch -> touch.1 = 0, touches)
