-- How far did a message get? 1 queued, 2 sent, 3 delivered, 4 opened, 5 clicked, 6 bounced, 7 failed, 8 skipped, 9 cancelled, 10 control. Part of other questions.
toUInt8(multiIf(
    is_clicked, 5,
    is_opened, 4,
    class != 1 AND is_bounced, 6,
    class = 3, 7,
    is_delivered, 3,
    class = 2, 2,
    class = 4, 8,
    class = 5, 9,
    class = 1, 10,
    1))
