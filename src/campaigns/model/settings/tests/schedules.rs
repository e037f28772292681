//! Recurring schedules: their fields and their occurrences.

use kernel::{
    Timestamp,
    zone::{Moments, Zone},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{read, refused, returned, round_trips};
use crate::model::settings::{
    cron,
    occurrence::{next_occurrence, upcoming},
    recurring::RecurringSchedule,
};

#[test]
fn a_recurring_schedule_round_trips() {
    round_trips::<RecurringSchedule>(&json!({"frequency": "daily"}));
    round_trips::<RecurringSchedule>(&json!({
        "frequency": "weekly", "cron": "0 9 * * 1", "dayOfWeek": 6, "dayOfMonth": 31, "timeOfDay": "00:00",
        "timezone": "Europe/Berlin", "endDate": "2026-12-31", "maxOccurrences": 100_000,
    }));
    round_trips::<RecurringSchedule>(&json!({"frequency": "weekly", "dayOfWeek": [0, 6]}));
    round_trips::<RecurringSchedule>(
        &json!({"frequency": "monthly", "dayOfMonth": 1, "maxOccurrences": 1}),
    );
    round_trips::<RecurringSchedule>(&json!({"frequency": "custom", "cron": "0 */2 * * MON-FRI"}));
    let weekly = |day: Value| json!({"frequency": "weekly", "dayOfWeek": day});
    returned::<RecurringSchedule>(&weekly(json!("Monday")), &weekly(json!(1)));
    returned::<RecurringSchedule>(&weekly(json!(["fri", "SUN", 5])), &weekly(json!([0, 5])));
    returned::<RecurringSchedule>(
        &json!({"frequency": "daily", "endDate": "2026-12-31T10:00:00+02:00"}),
        &json!({"frequency": "daily", "endDate": "2026-12-31T08:00:00.000Z"}),
    );
}

#[test]
fn invalid_recurring_schedules_are_refused() {
    let day = "dayOfWeek must be 0 (Sunday) to 6, a day's name, or a list of these";
    refused::<RecurringSchedule>(
        &json!({"frequency": "daily"}),
        &[
            ("frequency", json!(null), "frequency is required"),
            (
                "frequency",
                json!("hourly"),
                "frequency must be one of: daily, weekly, monthly, custom",
            ),
            ("frequency", json!("weekly"), "dayOfWeek is required for the frequency weekly"),
            ("frequency", json!("monthly"), "dayOfMonth is required for the frequency monthly"),
            ("frequency", json!("custom"), "cron is required for the frequency custom"),
            ("dayOfWeek", json!(7), day),
            ("dayOfWeek", json!(-1), day),
            ("dayOfWeek", json!(1.5), day),
            ("dayOfWeek", json!("someday"), day),
            ("dayOfWeek", json!(""), day),
            ("dayOfWeek", json!("mo"), day),
            ("dayOfWeek", json!([]), day),
            ("dayOfWeek", json!([1, 7]), day),
            ("dayOfWeek", json!([0, 1, 2, 3, 4, 5, 6, 6]), day),
            ("dayOfWeek", json!({"day": 1}), day),
            ("dayOfMonth", json!(0), "dayOfMonth must be between 1 and 31"),
            ("dayOfMonth", json!(32), "dayOfMonth must be between 1 and 31"),
            ("timeOfDay", json!("9am"), "timeOfDay must be a time of day as HH:mm, 00:00 to 23:59"),
            (
                "timezone",
                json!("Berlin"),
                "timezone must be an IANA time zone such as Europe/Berlin",
            ),
            ("endDate", json!("2026-13-01"), "endDate must be an ISO 8601 date or date-time"),
            ("maxOccurrences", json!(0), "maxOccurrences must be between 1 and 100000"),
            ("maxOccurrences", json!(100_001), "maxOccurrences must be between 1 and 100000"),
            ("cron", json!("*/5 * * * *"), "cron must not be due more often than once an hour"),
            ("cron", json!("0 0 30 2 *"), "cron must be due some day"),
        ],
    );
}

fn schedule(sent: Value) -> RecurringSchedule {
    read(&sent).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn next_of(schedule: &RecurringSchedule, after: &str, n: usize) -> Vec<String> {
    let found = upcoming(schedule, Zone::UTC, at(after), 0, n);
    found.iter().map(|at| at.to_string().replace(":00.000Z", "Z")).collect()
}

/// A schedule, a time, and the occurrences after it.
type Due<'a> = (Value, &'a str, Vec<&'a str>);

fn due_in_new_york(table: &[Due<'_>]) {
    for (sent, after, expected) in table {
        let mut sent = sent.clone();
        sent["timezone"] = json!("America/New_York");
        let found = next_of(&schedule(sent.clone()), after, expected.len());
        assert_eq!(&found, expected, "{sent} after {after}");
    }
}

#[test]
fn skipped_local_times_are_due_after_the_gap() {
    due_in_new_york(&[
        // The gap: the first moment after it, once; the day after as usual.
        (
            json!({"frequency": "daily", "timeOfDay": "02:30"}),
            "2026-03-07T12:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-09T06:30Z"],
        ),
        (
            json!({"frequency": "daily", "timeOfDay": "02:00"}),
            "2026-03-07T12:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "30 2 * * *"}),
            "2026-03-07T12:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-09T06:30Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "0 2 * * *"}),
            "2026-03-07T12:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
        ),
        // Two fixed hours, one of them in the gap: that one is not lost.
        (
            json!({"frequency": "custom", "cron": "0 2,14 * * *"}),
            "2026-03-07T20:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-08T18:00Z"],
        ),
        // Both coincide: once.
        (
            json!({"frequency": "custom", "cron": "0 2,3 * * *"}),
            "2026-03-07T20:00Z",
            vec!["2026-03-08T07:00Z", "2026-03-09T06:00Z"],
        ),
    ]);
}

#[test]
fn repeated_local_times_are_due_once_and_hourly_ones_twice() {
    due_in_new_york(&[
        // The overlap: the first of the two, once.
        (
            json!({"frequency": "daily", "timeOfDay": "01:30"}),
            "2026-10-31T12:00Z",
            vec!["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "30 1 * * *"}),
            "2026-10-31T12:00Z",
            vec!["2026-11-01T05:30Z", "2026-11-02T06:30Z"],
        ),
        // After times between the two, and after both.
        (
            json!({"frequency": "daily", "timeOfDay": "01:30"}),
            "2026-11-01T05:30Z",
            vec!["2026-11-02T06:30Z"],
        ),
        (
            json!({"frequency": "daily", "timeOfDay": "01:30"}),
            "2026-11-01T06:30Z",
            vec!["2026-11-02T06:30Z"],
        ),
        // Every hour is every hour, across both.
        (
            json!({"frequency": "custom", "cron": "0 * * * *"}),
            "2026-11-01T04:30Z",
            vec!["2026-11-01T05:00Z", "2026-11-01T06:00Z", "2026-11-01T07:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "0 * * * *"}),
            "2026-11-01T05:00Z",
            vec!["2026-11-01T06:00Z", "2026-11-01T07:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "30 * * * *"}),
            "2026-03-08T06:00Z",
            vec!["2026-03-08T06:30Z", "2026-03-08T07:30Z"],
        ),
    ]);
}

#[test]
fn days_of_the_week_and_the_month_are_those_of_the_calendar() {
    due_in_new_york(&[
        (
            json!({"frequency": "weekly", "dayOfWeek": [1, 3], "timeOfDay": "09:00"}),
            "2026-03-04T14:00Z",
            vec!["2026-03-09T13:00Z", "2026-03-11T13:00Z", "2026-03-16T13:00Z"],
        ),
        (
            json!({"frequency": "weekly", "dayOfWeek": "sunday"}),
            "2026-03-01T14:00Z",
            vec!["2026-03-08T13:00Z", "2026-03-15T13:00Z"],
        ),
        // Shorter months have it on their last day, and never twice.
        (
            json!({"frequency": "monthly", "dayOfMonth": 31}),
            "2026-01-31T14:00Z",
            vec![
                "2026-02-28T14:00Z",
                "2026-03-31T13:00Z",
                "2026-04-30T13:00Z",
                "2026-05-31T13:00Z",
            ],
        ),
        (
            json!({"frequency": "monthly", "dayOfMonth": 30}),
            "2028-01-30T14:00Z",
            vec!["2028-02-29T14:00Z", "2028-03-30T13:00Z"],
        ),
        (
            json!({"frequency": "monthly", "dayOfMonth": 29}),
            "2026-12-29T14:00Z",
            vec!["2027-01-29T14:00Z", "2027-02-28T14:00Z", "2027-03-29T13:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "0 9 31 * *"}),
            "2026-01-31T14:00Z",
            vec!["2026-03-31T13:00Z", "2026-05-31T13:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "0 9 L * *"}),
            "2026-01-31T14:00Z",
            vec!["2026-02-28T14:00Z", "2026-03-31T13:00Z"],
        ),
        (
            json!({"frequency": "custom", "cron": "0 9 29 2 *"}),
            "2026-01-01T00:00Z",
            vec!["2028-02-29T14:00Z", "2032-02-29T14:00Z"],
        ),
    ]);
}

/// Expressions that are due more often than a campaign may be.
#[test]
fn intervals_continue_through_a_repeated_hour() {
    let mut every_half_hour = schedule(json!({"frequency": "custom", "cron": "0 * * * *"}));
    every_half_hour.timezone = Some("America/New_York".parse().unwrap());
    every_half_hour.cron = Some(cron::tests::any_interval("*/30 * * * *"));
    assert_eq!(
        next_of(&every_half_hour, "2026-11-01T04:59Z", 5),
        [
            "2026-11-01T05:00Z",
            "2026-11-01T05:30Z",
            "2026-11-01T06:00Z",
            "2026-11-01T06:30Z",
            "2026-11-01T07:00Z"
        ]
    );
    assert_eq!(
        next_of(&every_half_hour, "2026-03-08T06:29Z", 3),
        ["2026-03-08T06:30Z", "2026-03-08T07:00Z", "2026-03-08T07:30Z"]
    );
}

#[test]
fn a_schedule_ends_with_its_last_day_or_its_last_occurrence() {
    let sent = json!({"frequency": "daily", "timeOfDay": "23:30", "timezone": "America/New_York", "endDate": "2026-07-03"});
    // The last day counts until it ends in New York.
    assert_eq!(
        next_of(&schedule(sent), "2026-07-02T00:00Z", 5),
        ["2026-07-02T03:30Z", "2026-07-03T03:30Z", "2026-07-04T03:30Z"]
    );
    let exact = json!({"frequency": "daily", "endDate": "2026-07-03T09:00:00Z"});
    assert_eq!(next_of(&schedule(exact), "2026-07-02T09:00Z", 5), ["2026-07-03T09:00Z"]);
    let before = json!({"frequency": "daily", "endDate": "2026-07-03T08:59:59.999Z"});
    assert_eq!(next_of(&schedule(before), "2026-07-02T09:00Z", 5), [""; 0]);

    let three = schedule(json!({"frequency": "daily", "maxOccurrences": 3}));
    assert_eq!(next_of(&three, "2026-07-02T10:00Z", 5).len(), 3);
    let after = at("2026-07-02T10:00Z");
    assert!(next_occurrence(&three, Zone::UTC, after, 2).is_some());
    assert_eq!(next_occurrence(&three, Zone::UTC, after, 3), None);
}

#[test]
fn a_schedule_without_a_zone_uses_the_workspaces() {
    let nine = schedule(json!({"frequency": "daily"}));
    let tokyo: Zone = "Asia/Tokyo".parse().unwrap();
    let next = next_occurrence(&nine, tokyo, at("2026-07-02T10:00Z"), 0).unwrap();
    assert_eq!(next.to_string(), "2026-07-03T00:00:00.000Z");
    // An occurrence at this very time is not after it; a millisecond earlier it is.
    let again = next_occurrence(&nine, tokyo, next, 1).unwrap();
    assert_eq!(again.millis() - next.millis(), 86_400_000);
    let just_before = Timestamp::from_millis(next.millis() - 1);
    assert_eq!(next_occurrence(&nine, tokyo, just_before, 1), Some(next));
}

const ZONES: [&str; 8] = [
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Asia/Beirut",
];

/// Any schedule but `custom`: the expected days are computed without the schedule's own arithmetic.
fn plain_schedules() -> impl Strategy<Value = RecurringSchedule> {
    let weekly = prop::collection::vec(0_u8..7, 1..4)
        .prop_map(|days| json!({"frequency": "weekly", "dayOfWeek": days}));
    let monthly = (1_u32..=31).prop_map(|day| json!({"frequency": "monthly", "dayOfMonth": day}));
    let daily = Just(json!({"frequency": "daily"}));
    let any = prop_oneof![daily, weekly, monthly];
    (any, 0_usize..ZONES.len(), 0_u16..24, 0_u16..60).prop_map(|(mut sent, zone, hour, minute)| {
        sent["timezone"] = json!(ZONES[zone]);
        sent["timeOfDay"] = json!(format!("{hour:02}:{minute:02}"));
        schedule(sent)
    })
}

fn means(schedule: &RecurringSchedule, day: chrono::NaiveDate) -> bool {
    use chrono::Datelike as _;
    let sent = serde_json::to_value(schedule).unwrap();
    let number = u64::from(day.weekday().num_days_from_sunday());
    let is_last = day.succ_opt().unwrap().month() != day.month();
    match sent["frequency"].as_str().unwrap() {
        "daily" => true,
        "weekly" => sent["dayOfWeek"].as_array().unwrap().contains(&json!(number)),
        _ => {
            let wanted = sent["dayOfMonth"].as_u64().unwrap();
            wanted == u64::from(day.day()) || (is_last && wanted > u64::from(day.day()))
        }
    }
}

proptest! {
    /// 2020 to 2035: every matching day has its one occurrence, in order, at its local time, or at the end of
    /// the gap that skipped it.
    #[test]
    fn every_matching_day_has_one_occurrence(schedule in plain_schedules(), s in 1_577_836_800_i64..2_051_222_400) {
        let zone = schedule.zone(Zone::UTC);
        let after = Timestamp::from_millis(s * 1000);
        let found = upcoming(&schedule, Zone::UTC, after, 0, 60);
        prop_assert_eq!(found.len(), 60);
        let mut expected = Vec::new();
        let mut day = zone.clock_at(after).date().pred_opt().unwrap();
        while expected.len() < 60 {
            let moment = zone.moments_of(day.and_time(schedule.time_of_day().time())).chosen();
            if means(&schedule, day) && moment > after {
                expected.push(moment);
            }
            day = day.succ_opt().unwrap();
        }
        prop_assert_eq!(&found, &expected);
        prop_assert!(found.is_sorted_by(|one, next| one < next));
        for moment in found {
            let clock = zone.clock_at(moment);
            let due = clock.date().and_time(schedule.time_of_day().time());
            let in_gap = matches!(zone.moments_of(due), Moments::Skipped(_));
            prop_assert!(clock == due || in_gap && clock > due, "{clock} {due}");
        }
    }

    #[test]
    fn occurrences_do_not_depend_on_intermediate_queries(schedule in plain_schedules(), s in 1_577_836_800_i64..2_051_222_400, part in 0.0..1.0_f64) {
        let after = Timestamp::from_millis(s * 1000);
        let next = next_occurrence(&schedule, Zone::UTC, after, 0).unwrap();
        let gap = next.millis() - after.millis() - 1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any moment between")]
        let between = Timestamp::from_millis(after.millis() + (gap as f64 * part) as i64);
        prop_assert_eq!(next_occurrence(&schedule, Zone::UTC, between, 0), Some(next));
    }

    /// Hourly cron expressions across clock changes: strictly in order, at matching local times.
    #[test]
    fn hourly_occurrences_are_in_order_and_match(
        minute in 0_u32..60, hours in "(\\*|\\*/[2-9]|[0-9]|[0-3],2[0-3])", zone in 0_usize..ZONES.len(),
        s in 1_577_836_800_i64..2_051_222_400,
    ) {
        use chrono::Timelike as _;
        let sent = json!({"frequency": "custom", "cron": format!("{minute} {hours} * * *"), "timezone": ZONES[zone]});
        let schedule = schedule(sent);
        let zone = schedule.zone(Zone::UTC);
        let found = upcoming(&schedule, Zone::UTC, Timestamp::from_millis(s * 1000), 0, 80);
        prop_assert_eq!(found.len(), 80);
        prop_assert!(found.is_sorted_by(|one, next| one < next));
        for moment in found {
            let clock = zone.clock_at(moment);
            let hour_before = zone.clock_at(Timestamp::from_millis(moment.millis() - 1000));
            let jumped = clock - hour_before != chrono::TimeDelta::seconds(1);
            prop_assert!(clock.minute() == minute || jumped, "{clock}");
        }
    }
}
