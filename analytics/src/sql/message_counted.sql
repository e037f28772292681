-- How many messages of a campaign are alike in all that reports count? Part of other questions.
SELECT
    place,
    occurrence,
    class,
    is_delivered,
    is_opened,
    is_clicked,
    is_bounced,
    happened,
    count() AS messages
FROM ($outcomes$)
GROUP BY place, occurrence, class, is_delivered, is_opened, is_clicked, is_bounced, happened
$plain$
