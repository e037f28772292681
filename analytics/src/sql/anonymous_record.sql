-- Records that a day's entries are written.
INSERT INTO timeline_anonymous_days (day) SELECT {day:Date}
