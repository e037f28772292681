//! Attribution: the messages that a conversion is credited to.
//!
//! A touch is a sent message. It may be credited with events of its recipient within its campaign's window
//! after it, and competes with touches of other campaigns that track the same event. A later touch whose
//! window is over does not displace an earlier one whose window is not.

use campaigns::model::settings::conversion::AttributionModel;
use kernel::time::{HOUR, millis};

/// A message that may be credited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touch {
    /// When it was sent, in milliseconds since 1970.
    pub at_ms: i64,
    /// Length of the attribution window.
    pub window_hours: u32,
}

impl Touch {
    fn may_have(&self, at_ms: i64) -> bool {
        let after = at_ms.saturating_sub(self.at_ms);
        after >= 0 && after <= millis(HOUR * self.window_hours)
    }
}

/// Credits an event at `at_ms` to touches: their indexes, and the part of the event each gets. The parts add
/// up to 1 unless no touch qualifies. Of two touches at the same time the first in the list is the earlier.
pub fn credit(model: AttributionModel, touches: &[Touch], at_ms: i64) -> Vec<(usize, f64)> {
    let within = || touches.iter().enumerate().filter(|(_, touch)| touch.may_have(at_ms));
    match model {
        AttributionModel::LastTouch => within()
            .max_by_key(|(place, touch)| (touch.at_ms, *place))
            .map(|(place, _)| (place, 1.0))
            .into_iter()
            .collect(),
        AttributionModel::FirstTouch => within()
            .min_by_key(|(place, touch)| (touch.at_ms, *place))
            .map(|(place, _)| (place, 1.0))
            .into_iter()
            .collect(),
        AttributionModel::Linear => {
            let count = u32::try_from(within().count()).unwrap_or(u32::MAX);
            within().map(|(place, _)| (place, 1.0 / f64::from(count))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const H: i64 = 3_600_000;

    fn touches(of: &[(i64, u32)]) -> Vec<Touch> {
        of.iter()
            .map(|(hour, window_hours)| Touch { at_ms: hour * H, window_hours: *window_hours })
            .collect()
    }

    #[test]
    fn each_model_credits_its_own() {
        use AttributionModel::{FirstTouch, LastTouch, Linear};
        let two = [(0, 72), (10, 72)];
        let expiring = [(0, 72), (10, 1)];
        #[expect(clippy::type_complexity, reason = "a table")]
        let table: [(AttributionModel, &[(i64, u32)], i64, &[(usize, f64)]); 12] = [
            (LastTouch, &two, 20 * H, &[(1, 1.0)]),
            (FirstTouch, &two, 20 * H, &[(0, 1.0)]),
            (Linear, &two, 20 * H, &[(0, 0.5), (1, 0.5)]),
            // At the very millisecond of the sending, and one before it.
            (LastTouch, &two, 0, &[(0, 1.0)]),
            (LastTouch, &two, -1, &[]),
            // At the end of the window, and one past it.
            (FirstTouch, &two, 72 * H, &[(0, 1.0)]),
            (FirstTouch, &two, 72 * H + 1, &[(1, 1.0)]),
            (Linear, &two, 72 * H + 1, &[(1, 1.0)]),
            (Linear, &two, 82 * H + 1, &[]),
            // A later touch whose window is over does not displace the earlier one.
            (LastTouch, &expiring, 12 * H, &[(0, 1.0)]),
            (LastTouch, &expiring, 11 * H, &[(1, 1.0)]),
            (LastTouch, &[], 0, &[]),
        ];
        for (model, of, at, expected) in table {
            assert_eq!(credit(model, &touches(of), at), expected, "{model:?} {of:?} {at}");
        }
    }

    proptest! {
        #[test]
        fn a_conversion_is_credited_once_or_not_at_all(of in prop::collection::vec((0_i64..100, 1_u32..100), 0..8), at in 0_i64..200) {
            let touches = touches(&of);
            for (_, model) in AttributionModel::NAMED {
                let credited = credit(*model, &touches, at * H);
                let whole: f64 = credited.iter().map(|(_, part)| part).sum();
                let reached = touches.iter().any(|touch| touch.may_have(at * H));
                prop_assert!((whole - f64::from(u8::from(reached))).abs() < 1e-9);
                prop_assert!(credited.iter().all(|(place, _)| touches[*place].may_have(at * H)));
            }
        }
    }
}
