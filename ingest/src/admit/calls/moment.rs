//! The time of a call, corrected by the clock of its sender.
//!
//! A sender whose clock is wrong says so by `sentAt`: the call happened as long before its receipt as its time
//! lies before `sentAt`. A retry comes with another `sentAt` or is received later, so that its corrected time differs
//! a little; but an event is known by its name, day and id. So the day stays the one of the time as sent, as long as
//! the corrected time is not clearly on another one: then the window of recent ids finds retries, too.

use crate::model::calendar::DAY_MS;

use super::super::{element::Field, timestamp, validate::Moment};

/// How far a corrected time may lie outside of its day as sent and be held to it: longer than SDKs retry.
const DAY_TOLERANCE_MS: i64 = 15 * 60 * 1000;

/// The times of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times<'f, 'a> {
    pub(super) timestamp: &'f Field<'a>,
    /// Milliseconds from the event to its sending, where there is no timestamp.
    pub(super) offset: &'f Field<'a>,
    /// Of the call, or of its batch.
    pub(super) sent_at: &'f Field<'a>,
    pub(super) received_at_ms: i64,
}

/// When a call happened; or what is wrong with its `timestamp`.
pub(super) fn of(times: Times<'_, '_>) -> Result<Moment, String> {
    let Times { timestamp, offset, sent_at, received_at_ms } = times;
    let as_sent =
        || timestamp::read(timestamp, received_at_ms).map_err(|it| format!("timestamp {it}"));
    if matches!(timestamp, Field::Absent) {
        return Ok(by_offset(offset, received_at_ms));
    }
    let corrected = timestamp::instant(timestamp).and_then(|sent| {
        let ahead_ms = timestamp::instant(sent_at)?.checked_sub(received_at_ms)?;
        let corrected = sent.checked_sub(ahead_ms)?;
        timestamp::is_allowed(corrected, received_at_ms).then_some((sent, corrected))
    });
    let Some((sent, corrected)) = corrected else {
        return Ok(as_sent()?.map_or(Moment::Received, Moment::Sent));
    };
    let begin = sent.div_euclid(DAY_MS).saturating_mul(DAY_MS);
    let end = begin.saturating_add(DAY_MS - 1);
    let nearest = corrected.clamp(begin, end);
    if corrected.abs_diff(nearest) <= DAY_TOLERANCE_MS.unsigned_abs() {
        Ok(Moment::Sent(nearest))
    } else {
        Ok(Moment::Corrected(corrected))
    }
}

fn by_offset(offset: &Field<'_>, received_at_ms: i64) -> Moment {
    let happened = timestamp::instant(offset)
        .filter(|offset| *offset >= 0)
        .and_then(|offset| received_at_ms.checked_sub(offset))
        .filter(|ms| timestamp::is_allowed(*ms, received_at_ms));
    happened.map_or(Moment::Received, Moment::Corrected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_MS: i64 = 1_772_366_400_000;
    const HOUR_MS: i64 = 3_600_000;

    fn at(timestamp_ms: i64, sent_at: Field<'_>) -> Result<Moment, String> {
        #[expect(clippy::cast_precision_loss, reason = "times of a test")]
        let timestamp = Field::Number(timestamp_ms as f64);
        of(Times {
            timestamp: &timestamp,
            offset: &Field::Absent,
            sent_at: &sent_at,
            received_at_ms: NOON_MS,
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "times of a test")]
    fn sent(ms: i64) -> Field<'static> {
        Field::Number(ms as f64)
    }

    #[test]
    fn a_wrong_clock_is_corrected_by_sent_at() {
        let year_ms = 365 * 24 * HOUR_MS;
        for (wrong_by_ms, expected) in [
            (0, Moment::Sent(NOON_MS - 5_000)),
            (HOUR_MS, Moment::Sent(NOON_MS - 5_000)),
            (-HOUR_MS, Moment::Sent(NOON_MS - 5_000)),
            (20 * HOUR_MS, Moment::Corrected(NOON_MS - 5_000)),
            (40 * year_ms, Moment::Corrected(NOON_MS - 5_000)),
            (-50 * year_ms, Moment::Corrected(NOON_MS - 5_000)),
        ] {
            let now = NOON_MS + wrong_by_ms;
            assert_eq!(at(now - 5_000, sent(now)), Ok(expected), "{wrong_by_ms}");
        }
    }

    #[test]
    fn without_a_usable_sent_at_the_time_is_as_sent() {
        for unusable in [Field::Absent, Field::Text("soon"), Field::Other, Field::Number(f64::NAN)]
        {
            assert_eq!(at(NOON_MS - HOUR_MS, unusable), Ok(Moment::Sent(NOON_MS - HOUR_MS)));
        }
        // A `sentAt` that would put the event into a future that no event may have.
        let long_ago = sent(NOON_MS - 30 * 365 * 24 * HOUR_MS);
        assert_eq!(at(NOON_MS - HOUR_MS, long_ago), Ok(Moment::Sent(NOON_MS - HOUR_MS)));
        let fault = at(1, Field::Absent).unwrap_err();
        assert!(fault.starts_with("timestamp must be between"), "{fault}");
    }

    #[test]
    fn a_retry_stays_on_its_day_when_its_corrected_time_crosses_midnight() {
        let midnight = NOON_MS - 12 * HOUR_MS;
        let before = midnight - 10;
        // It was sent a second before it was received, and again 14 minutes later.
        for late_ms in [0, 5, 1_000, 14 * 60 * 1000] {
            let moment = at(before, sent(NOON_MS - late_ms)).unwrap();
            let Moment::Sent(ms) = moment else { panic!("{moment:?}") };
            assert_eq!(ms.div_euclid(DAY_MS), before.div_euclid(DAY_MS), "{late_ms}");
        }
    }

    #[test]
    fn an_offset_counts_back_from_the_receipt() {
        let by = |offset| {
            of(Times {
                timestamp: &Field::Absent,
                offset: &offset,
                sent_at: &Field::Absent,
                received_at_ms: NOON_MS,
            })
        };
        assert_eq!(by(Field::Number(2_000.0)), Ok(Moment::Corrected(NOON_MS - 2_000)));
        for none in [Field::Absent, Field::Number(-1.0), Field::Number(1e15), Field::Other] {
            assert_eq!(by(none), Ok(Moment::Received), "{none:?}");
        }
    }
}
