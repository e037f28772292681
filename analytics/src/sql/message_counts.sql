-- How many messages of a campaign are alike in all that reports count?
SELECT
    toUInt8(place) AS variant,
    occurrence,
    toUInt8(class) AS class,
    toBool(is_delivered) AS is_delivered,
    toBool(is_opened) AS is_opened,
    toBool(is_clicked) AS is_clicked,
    toBool(is_bounced) AS is_bounced,
    toUInt32(happened) AS happened,
    messages
FROM ($counted$)
