//! The goals of a campaign: conversions and revenue.

use campaigns::model::settings::conversion::{Conversion, ConversionTracking};
use kernel::{CampaignId, Timestamp};
use serde_json::{Map, Value};

/// The event whose amounts count as revenue.
pub const ORDER_COMPLETED: &str = "Order Completed";

/// A campaign that tracks conversions.
#[derive(Debug, Clone)]
pub struct Tracker {
    pub campaign: CampaignId,
    pub tracking: ConversionTracking,
}

/// An event that goals are checked against.
#[derive(Debug, Clone, Copy)]
pub struct ConversionEvent<'a> {
    pub name: &'a str,
    pub properties: &'a Map<String, Value>,
    /// When it happened; relative times in conditions refer to it.
    pub at: Timestamp,
}

fn counts(conversion: &Conversion, event: &ConversionEvent<'_>) -> bool {
    let conditions = conversion.conditions.as_deref().unwrap_or_default();
    conversion.event_name == event.name
        && conditions.iter().all(|condition| condition.holds(event.properties, event.at))
}

impl Tracker {
    /// All its conversions, the primary one first.
    pub fn conversions(&self) -> impl Iterator<Item = &Conversion> {
        std::iter::once(&self.tracking.primary_conversion).chain(self.tracking.secondary())
    }

    /// Whether one of its conversions has this event name.
    pub fn tracks(&self, name: &str) -> bool {
        self.conversions().any(|conversion| conversion.event_name == name)
    }

    /// Whether a conversion with this event name has conditions.
    pub fn has_conditions_for(&self, name: &str) -> bool {
        self.conversions().any(|conversion| {
            conversion.event_name == name
                && conversion.conditions.as_ref().is_some_and(|all| !all.is_empty())
        })
    }

    /// The indexes of the conversions that an event matches; 0 is the primary one.
    pub fn met(&self, event: &ConversionEvent<'_>) -> Vec<usize> {
        let all = self.conversions().enumerate();
        all.filter(|(_, conversion)| counts(conversion, event)).map(|(place, _)| place).collect()
    }

    /// Whether an event matches a conversion.
    pub fn converts(&self, event: &ConversionEvent<'_>) -> bool {
        self.conversions().any(|conversion| counts(conversion, event))
    }

    /// Whether an order counts as revenue: if it matches a conversion, or if no conversion tracks orders.
    pub fn earns(&self, event: &ConversionEvent<'_>) -> bool {
        event.name == ORDER_COMPLETED && (!self.tracks(ORDER_COMPLETED) || self.converts(event))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tracker(tracking: Value) -> Tracker {
        let campaign = CampaignId::new(uuid::Uuid::nil());
        Tracker { campaign, tracking: serde_json::from_value(tracking).unwrap() }
    }

    fn order(properties: &Value) -> Map<String, Value> {
        properties.as_object().unwrap().clone()
    }

    #[test]
    fn events_match_goals_by_name_and_conditions() {
        let dear = json!([{"field": "total", "operator": "gte", "value": 50}]);
        let tracker = tracker(json!({
            "primaryConversion": {"eventName": ORDER_COMPLETED, "conditions": dear},
            "secondaryConversions": [{"eventName": ORDER_COMPLETED}, {"eventName": "Viewed"}],
        }));
        let (cheap, dear) = (order(&json!({"total": 49})), order(&json!({"total": 50})));
        let at = Timestamp::from_millis(0);
        let event = |name: &'static str, properties| ConversionEvent { name, properties, at };
        assert_eq!(tracker.met(&event(ORDER_COMPLETED, &dear)), [0, 1]);
        assert_eq!(tracker.met(&event(ORDER_COMPLETED, &cheap)), [1]);
        assert_eq!(tracker.met(&event("Viewed", &cheap)), [2]);
        assert!(tracker.met(&event("Left", &cheap)).is_empty());
        assert!(
            tracker.has_conditions_for(ORDER_COMPLETED) && !tracker.has_conditions_for("Viewed")
        );
    }

    #[test]
    fn revenue_is_of_matching_orders_or_of_all() {
        let dear = json!([{"field": "total", "operator": "gte", "value": 50}]);
        let choosy = tracker(
            json!({"primaryConversion": {"eventName": ORDER_COMPLETED, "conditions": dear}}),
        );
        let plain = tracker(json!({"primaryConversion": {"eventName": "Viewed"}}));
        let cheap = order(&json!({"total": 49}));
        let event = ConversionEvent {
            name: ORDER_COMPLETED,
            properties: &cheap,
            at: Timestamp::from_millis(0),
        };
        assert!(!choosy.earns(&event));
        assert!(plain.earns(&event));
        assert!(!plain.earns(&ConversionEvent { name: "Viewed", ..event }), "no money");
    }
}
