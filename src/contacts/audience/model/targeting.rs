//! Targetings: filters in groups, lists of user ids, and the consent required.

use kernel::fields::{Fields, FromFields};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::{
    EVENT_FILTERS_MAX, FILTERS_MAX, FILTERS_PER_GROUP_MAX, Filter, GROUPS_MAX, USER_ID_CHARS_MAX,
    USER_IDS_MAX, VALUES_IN_ALL_MAX, filter::FilterBody, word,
};

/// How conditions are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Join {
    #[default]
    And,
    Or,
}

const JOINS: &[(&str, Join)] = &[("AND", Join::And), ("OR", Join::Or)];

/// The consent that a profile must have for a message to reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubscriptionPreference {
    /// Any status but an opt-out. Without a status the profile counts as subscribed.
    #[default]
    SubscribedOrOptedIn,
    /// An explicit opt-in to the channel.
    OptedInOnly,
    /// Any status of the channel: only with a transactional list, which the launch checks. Suppressions and an
    /// opt-out of the list still apply.
    All,
}

const PREFERENCES: &[(&str, SubscriptionPreference)] = &[
    ("subscribed_or_opted_in", SubscriptionPreference::SubscribedOrOptedIn),
    ("opted_in_only", SubscriptionPreference::OptedInOnly),
    ("all", SubscriptionPreference::All),
];

/// Filters combined into one.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct FilterGroup {
    #[schema(value_type = Vec<FilterBody>, min_items = 1, max_items = 50)]
    pub filters: Vec<Filter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<Join>,
}

impl FilterGroup {
    /// How its filters are combined.
    pub fn join(&self) -> Join {
        self.operator.unwrap_or_default()
    }
}

impl FromFields for FilterGroup {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        Self {
            filters: body.required("filters").objects(1..=FILTERS_PER_GROUP_MAX),
            operator: word::read_as(body.optional("operator"), JOINS).flatten(),
        }
    }
}

/// The profiles that a campaign is for. Without any part: every profile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Targeting {
    /// Internal or external ids. Together with `filterGroups`: those of them that the groups match.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<kernel::schema::NameOrId>>, min_items = 1, max_items = 10000)]
    pub user_ids: Option<Vec<String>>,
    /// Absent or an empty list: every profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub filter_groups: Option<Vec<FilterGroup>>,
    /// Profiles that match any of these groups are excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub exclude_filter_groups: Option<Vec<FilterGroup>>,
    /// How `filterGroups` are combined; default `AND`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_operator: Option<Join>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_preference: Option<SubscriptionPreference>,
}

impl Targeting {
    /// How the groups are combined.
    pub fn join(&self) -> Join {
        self.filter_operator.unwrap_or_default()
    }

    /// The consent that a recipient needs.
    pub fn preference(&self) -> SubscriptionPreference {
        self.subscription_preference.unwrap_or_default()
    }

    /// The groups of which one or all must match; empty matches every profile.
    pub fn groups(&self) -> &[FilterGroup] {
        self.filter_groups.as_deref().unwrap_or_default()
    }

    /// The groups of which none may match.
    pub fn excluded_groups(&self) -> &[FilterGroup] {
        self.exclude_filter_groups.as_deref().unwrap_or_default()
    }

    /// Every filter, in the order of the body.
    pub fn filters(&self) -> impl Iterator<Item = &Filter> {
        self.groups().iter().chain(self.excluded_groups()).flat_map(|group| &group.filters)
    }
}

impl FromFields for Targeting {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        let user_ids =
            body.optional("userIds").list(0..=USER_IDS_MAX, |id| id.text(1..=USER_ID_CHARS_MAX));
        // An empty list would match no profile, and leaving it out every profile. Neither is what the caller can mean.
        if user_ids.as_ref().is_some_and(Vec::is_empty) {
            body.refuse("userIds", "must have at least 1 element; leave it out to mean everyone");
        }
        let targeting = Self {
            user_ids,
            filter_groups: body.optional("filterGroups").objects(0..=GROUPS_MAX),
            exclude_filter_groups: body.optional("excludeFilterGroups").objects(0..=GROUPS_MAX),
            filter_operator: word::read_as(body.optional("filterOperator"), JOINS).flatten(),
            subscription_preference: word::read_as(
                body.optional("subscriptionPreference"),
                PREFERENCES,
            )
            .flatten(),
        };
        refuse_too_much(body, &targeting);
        targeting
    }
}

/// The limits for all groups together.
fn refuse_too_much(body: &mut Fields<'_>, targeting: &Targeting) {
    let filters = targeting.filters().count();
    if filters > FILTERS_MAX {
        let problem = format!("must have at most {FILTERS_MAX} filters in all, received {filters}");
        body.refuse_body(problem);
    }
    let of_events = targeting.filters().filter(|filter| filter.is_of_events()).count();
    if of_events > EVENT_FILTERS_MAX {
        body.refuse_body(format!(
            "must have at most {EVENT_FILTERS_MAX} filters of type event or engagement, received {of_events}"
        ));
    }
    let values: usize = targeting.filters().map(Filter::list_len).sum();
    if values > VALUES_IN_ALL_MAX {
        body.refuse_body(format!(
            "must have at most {VALUES_IN_ALL_MAX} values in its lists, received {values}"
        ));
    }
}

impl<'de> Deserialize<'de> for Targeting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::stored(deserializer)
    }
}
