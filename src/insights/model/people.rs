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

/// Whether a question depends on copies of profiles in ClickHouse: people without one would be missing from its answer.
pub(super) fn needs_profiles(people: Option<&People>, breakdown: Option<&BreakdownBy>) -> bool {
    people.is_some() || breakdown.is_some_and(|it| it.by.source == BreakdownSource::Profile)
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
    fn questions_about_people_or_by_their_attributes_need_profiles() {
        let trend = |further: Value| {
            let series = json!({"series": [{}, {"metric": "unique"}]});
            read::<TrendsQuestion>(&series, &further).needs_profiles()
        };
        let by_profile = json!({"breakdown": {"profile": "plan"}});
        let of_some = json!({"people": {}});
        assert!(!trend(json!({})));
        assert!(!trend(json!({"breakdown": {"property": "plan"}})));
        assert!(trend(by_profile.clone()));
        assert!(trend(of_some.clone()));
        let steps = json!({
            "steps": [{"eventName": "A"}, {"eventName": "B"}], "window": {"amount": 1, "unit": "days"},
        });
        let funnel = |further: &Value| read::<FunnelQuestion>(&steps, further).needs_profiles();
        assert!(!funnel(&json!({})));
        assert!(funnel(&by_profile));
        assert!(funnel(&of_some));
        let returns = json!({"start": {"eventName": "A"}, "return": {"eventName": "B"}});
        let retention =
            |further: &Value| read::<RetentionQuestion>(&returns, further).needs_profiles();
        assert!(!retention(&json!({})));
        assert!(retention(&of_some));
    }
}
