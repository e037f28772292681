-- Only messages to people of these events, and to profiles merged into theirs: looked up first, so that others are not put together. Part of other questions.
PREWHERE user_id IN (
    SELECT arrayJoin(arrayPushBack(same.all, whose.person))
    FROM (
        $people$
    ) AS whose
    LEFT ANY JOIN (
        SELECT survivor, groupArray(merged) AS all
        FROM ($merged$)
        GROUP BY survivor
    ) AS same ON same.survivor = whose.person
)
