//! Whose events a question is about.

use analytics::insights::BreakdownSource;
use audience::model::Targeting;
use kernel::{
    SegmentId,
    fields::{Fields, FromFields},
};
use serde_json::json;

use super::breakdown::BreakdownBy;

/// The people of a question: those that a targeting matches now.
#[derive(Debug, Clone, PartialEq)]
pub struct People {
    /// The targeting that people match.
    pub targeting: Targeting,
    /// Whether it is that of members of a segment, named by `segmentId`.
    pub is_segment: bool,
}

impl FromFields for People {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let segment = body
            .optional("segmentId")
            .about("A segment; instead of a targeting.")
            .parsed(SegmentId::new(uuid::Uuid::nil()), |text| {
                text.parse().map_err(|_| "must be the id of a segment".to_owned())
            });
        let targeting = Targeting::from_fields(body);
        let Some(segment) = segment else { return Self { targeting, is_segment: false } };
        if targeting != Targeting::default() {
            body.refuse("segmentId", "must not stand beside a targeting");
        }
        let member = json!({"filterGroups": [{"filters": [
            {"type": "segment", "field": segment, "operator": "member"}
        ]}]});
        let targeting = serde_json::from_value(member);
        Self { targeting: targeting.unwrap_or_default(), is_segment: true }
    }
}

/// Which copies in ClickHouse, of what is kept in PostgreSQL, a question depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopiesNeeded {
    /// None: it is about events alone.
    None,
    /// Links between identifiers: who is counted once.
    Links,
    /// Profiles as well: who is counted at all, and by which attribute. Those without a copy would be missing.
    Profiles,
}

impl CopiesNeeded {
    /// Those of a question that counts people.
    pub(super) fn of_people(people: Option<&People>, breakdown: Option<&BreakdownBy>) -> Self {
        match Self::of_events(people, breakdown) {
            Self::None => Self::Links,
            needed => needed,
        }
    }

    /// Those of a question that counts events.
    pub(super) fn of_events(people: Option<&People>, breakdown: Option<&BreakdownBy>) -> Self {
        let by_profile = breakdown.is_some_and(|it| it.by.source == BreakdownSource::Profile);
        if people.is_some() || by_profile { Self::Profiles } else { Self::None }
    }
}

#[cfg(test)]
mod tests {
    use kernel::fields::read_object;
    use serde_json::Value;

    use super::*;
    use crate::model::{
        funnels::FunnelQuestion, retention::RetentionQuestion, trends::TrendsQuestion,
    };

    fn read<T: FromFields>(question: &Value, further: &Value) -> T {
        let mut question = question.as_object().unwrap().clone();
        question.insert("from".to_owned(), json!("2026-03-01"));
        question.extend(further.as_object().unwrap().clone());
        read_object(&question).unwrap()
    }

    #[test]
    fn questions_need_copies_of_what_they_ask_about_people() {
        let trend = |metric: &str, further: Value| {
            let series = json!({"series": [{}, {"metric": metric}]});
            read::<TrendsQuestion>(&series, &further).copies_needed()
        };
        let by_profile = json!({"breakdown": {"profile": "plan"}});
        let of_some = json!({"people": {}});
        assert_eq!(trend("count", json!({})), CopiesNeeded::None);
        assert_eq!(trend("count", json!({"breakdown": {"property": "plan"}})), CopiesNeeded::None);
        assert_eq!(trend("unique", json!({})), CopiesNeeded::Links);
        assert_eq!(trend("perUser", json!({})), CopiesNeeded::Links);
        assert_eq!(trend("count", by_profile.clone()), CopiesNeeded::Profiles);
        assert_eq!(trend("unique", of_some.clone()), CopiesNeeded::Profiles);
        let steps = json!({
            "steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"},
        });
        let funnel = |further: &Value| read::<FunnelQuestion>(&steps, further).copies_needed();
        assert_eq!(funnel(&json!({})), CopiesNeeded::Links);
        assert_eq!(funnel(&by_profile), CopiesNeeded::Profiles);
        assert_eq!(funnel(&of_some), CopiesNeeded::Profiles);
        let returns = json!({"start": {"eventName": "A"}, "return": {"eventName": "B"}});
        let retention =
            |further: &Value| read::<RetentionQuestion>(&returns, further).copies_needed();
        assert_eq!(retention(&json!({})), CopiesNeeded::Links);
        assert_eq!(retention(&of_some), CopiesNeeded::Profiles);
    }
}
