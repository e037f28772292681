//! Days and months of the UTC calendar, without a time zone and without a clock.
//!
//! Algorithms: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
//! <https://howardhinnant.github.io/date_algorithms.html>.

/// Milliseconds of a day.
pub const DAY_MS: i64 = 24 * 3600 * 1000;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_SHIFT_DAYS: i64 = 719_468;
/// Days of 400 years.
const ERA_DAYS: i64 = 146_097;

/// Days since the epoch of an instant, held to what a ClickHouse `Date` can say.
pub fn day_of(timestamp_ms: i64) -> u16 {
    let day = timestamp_ms.div_euclid(DAY_MS).clamp(0, i64::from(u16::MAX));
    u16::try_from(day).unwrap_or_default()
}

/// The first day of the month `day` lies in.
pub fn first_of_month(day: u16) -> u16 {
    let (_, _, day_of_month) = civil_from_days(i64::from(day));
    day - u16::try_from(day_of_month - 1).unwrap_or_default()
}

/// The partition of `events` that a key day lies in: `toYYYYMM(day)`.
pub fn partition_month(day: u16) -> u32 {
    let (year, month, _) = civil_from_days(i64::from(day));
    u32::try_from(year * 100 + month).unwrap_or_default()
}

/// Months since year 0 of a day: the months that `toYYYYMM` distinguishes.
pub fn month_of(day: u16) -> u32 {
    let (year, month, _) = civil_from_days(i64::from(day));
    u32::try_from(year * 12 + month - 1).unwrap_or_default()
}

/// Days since the epoch of a date; none when there is no such date.
pub fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let month_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=month_days).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(year.div_euclid(400) * ERA_DAYS + day_of_era - EPOCH_SHIFT_DAYS)
}

/// Year, month and day of month of a day since the epoch.
pub fn civil_from_days(day: i64) -> (i64, i64, i64) {
    let shifted = day + EPOCH_SHIFT_DAYS;
    let day_of_era = shifted.rem_euclid(ERA_DAYS);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = shifted.div_euclid(ERA_DAYS) * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use chrono::{Datelike, Days, NaiveDate};

    use super::*;

    #[test]
    fn a_day_lies_in_its_partition() {
        for (day, expected) in
            [(0, 197_001), (30, 197_001), (31, 197_002), (19_675, 202_311), (u16::MAX, 214_906)]
        {
            assert_eq!(partition_month(day), expected, "{day}");
        }
    }

    #[test]
    fn every_day_a_date_column_holds_agrees_with_chrono() {
        let epoch = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
        for day in 0..=u16::MAX {
            let date = epoch.checked_add_days(Days::new(u64::from(day))).unwrap();
            let civil = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
            assert_eq!(civil_from_days(i64::from(day)), civil);
            assert_eq!(days_from_civil(civil.0, civil.1, civil.2), Some(i64::from(day)));
            assert_eq!(u32::from(first_of_month(day)), u32::from(day) - date.day0());
        }
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for (year, month, day) in
            [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31), (2024, 1, 0)]
        {
            assert_eq!(days_from_civil(year, month, day), None, "{year}-{month}-{day}");
        }
        assert!(days_from_civil(2000, 2, 29).is_some());
    }
}
