-- How many people are in each variant, and how do their messages, opens and clicks vary? Sums over people, from which the
-- variance of a rate follows where people got several messages.
SELECT
    toUInt8(place) AS variant,
    countIf(its_assigned > 0) AS assigned,
    countIf(its_sent > 0) AS sent,
    countIf(its_control > 0) AS control,
    countIf(its_messages > 0) AS reached,
    sum(its_messages) AS messages,
    sum(its_messages * its_messages) AS messages_squared,
    sum(its_opened) AS opened,
    sum(its_opened * its_opened) AS opened_squared,
    sum(its_opened * its_messages) AS opened_messages,
    sum(its_clicked) AS clicked,
    sum(its_clicked * its_clicked) AS clicked_squared,
    sum(its_clicked * its_messages) AS clicked_messages
FROM (
    SELECT
        place,
        user_id,
        countIf(class IN (2, 3, 4, 5)) AS its_assigned,
        countIf(class = 2) AS its_sent,
        countIf(class = 1) AS its_control,
        countIf(class = 2 AND (is_opened OR NOT is_bounced)) AS its_messages,
        countIf(is_opened) AS its_opened,
        countIf(is_clicked) AS its_clicked
    FROM ($outcomes$)
    GROUP BY place, user_id
)
GROUP BY variant
ORDER BY variant
