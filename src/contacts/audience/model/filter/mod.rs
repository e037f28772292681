//! Filters: the subject of a condition, and the condition. In JSON all are `{type, field, operator, value}`.

mod engagement;
mod event;
mod membership;
mod profile;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

pub use self::{
    engagement::{Engagement, EngagementFilter},
    event::{CountRange, CountTest, EventFilter},
    membership::{ListFilter, SegmentFilter},
    profile::{ProfileField, ProfileFilter},
};
use kernel::{
    Channel,
    fields::{Fields, FromFields},
    schema::one_of_words,
};

use super::{Criterion, Operator, Path, Scalar, word};

#[derive(Debug, Clone, PartialEq)]
pub struct AttributeFilter {
    /// The path of the attribute.
    pub path: Path,
    /// The rule for its value.
    pub criterion: Criterion,
}

/// The recorded status of consent on a channel. Without a record there is no status.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFilter {
    pub channel: Channel,
    /// The rule for the status.
    pub criterion: Criterion,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    Attribute(AttributeFilter),
    Profile(ProfileFilter),
    Event(EventFilter),
    Segment(SegmentFilter),
    List(ListFilter),
    Channel(ChannelFilter),
    Engagement(EngagementFilter),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterKind {
    Attribute,
    Profile,
    Event,
    Segment,
    List,
    Channel,
    Engagement,
}

const FILTER_KINDS: &[(&str, FilterKind)] = &[
    ("attribute", FilterKind::Attribute),
    ("profile", FilterKind::Profile),
    ("event", FilterKind::Event),
    ("segment", FilterKind::Segment),
    ("list", FilterKind::List),
    ("channel", FilterKind::Channel),
    ("engagement", FilterKind::Engagement),
];

/// The types of filters.
#[derive(Debug)]
struct FilterType;

impl PartialSchema for FilterType {
    fn schema() -> RefOr<Schema> {
        one_of_words(FILTER_KINDS.iter().map(|(name, _)| *name))
    }
}

impl ToSchema for FilterType {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("FilterType")
    }
}

/// A filter as it is sent and returned.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Filter)]
pub struct FilterBody {
    /// `attribute`, `profile`, `event`, `segment`, `list`, `channel` or `engagement`.
    #[serde(rename = "type")]
    #[schema(value_type = FilterType)]
    kind: &'static str,
    /// The name or dot path of an attribute; `email`, `phone`, `externalId`, `createdAt` or `updatedAt` of a
    /// profile; the name of an event; the id of a segment or list; a channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 255)]
    field: Option<String>,
    /// An operator of comparison such as `equals`; `performed`, `not_performed` for an event; `member`,
    /// `not_member` for a segment or list; `sent`, `opened`, `clicked` for an engagement.
    operator: &'static str,
    /// The operand. For an event `{count: {op, n}, withinDays, properties}`, for an engagement `{campaignId,
    /// withinDays}`, all of them optional.
    #[schema(value_type = Value)]
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
}

impl Filter {
    /// Whether it needs a query to ClickHouse.
    pub const fn is_of_events(&self) -> bool {
        matches!(self, Self::Event(_) | Self::Engagement(_))
    }

    /// Its JSON form, by which equal filters are recognised.
    pub fn key(&self) -> String {
        serde_json::to_string(&self.body()).unwrap_or_default()
    }

    /// The number of values in its list.
    pub(super) fn list_len(&self) -> usize {
        match self {
            Self::Attribute(AttributeFilter { criterion, .. })
            | Self::Profile(ProfileFilter { criterion, .. })
            | Self::Channel(ChannelFilter { criterion, .. }) => criterion.list_len(),
            Self::Event(_) | Self::Segment(_) | Self::List(_) | Self::Engagement(_) => 0,
        }
    }

    fn body(&self) -> FilterBody {
        let of_value = |kind, field: &str, criterion: &Criterion| FilterBody {
            kind,
            field: Some(field.to_owned()),
            operator: criterion.operator_name(),
            value: criterion.operand(),
        };
        match self {
            Self::Attribute(filter) => {
                of_value("attribute", filter.path.as_str(), &filter.criterion)
            }
            Self::Profile(filter) => of_value("profile", filter.field.name(), &filter.criterion),
            Self::Channel(filter) => {
                of_value("channel", filter.channel.as_str(), &filter.criterion)
            }
            Self::Event(filter) => filter.body(),
            Self::Segment(filter) => filter.body(),
            Self::List(filter) => filter.body(),
            Self::Engagement(filter) => filter.body(),
        }
    }
}

impl FromFields for Filter {
    fn from_fields(body: &mut Fields<'_>) -> Self {
        // After an error the filter is discarded, because the body is refused.
        let kind = word::read(body.required("type"), FILTER_KINDS);
        match kind.unwrap_or(FilterKind::Attribute) {
            FilterKind::Attribute if kind.is_none() => Self::Segment(SegmentFilter::default()),
            FilterKind::Attribute => Self::Attribute(AttributeFilter {
                path: Path::read(body),
                criterion: Criterion::read(body, &every_operator()),
            }),
            FilterKind::Profile => Self::Profile(ProfileFilter::read(body)),
            FilterKind::Event => Self::Event(EventFilter::read(body)),
            FilterKind::Segment => Self::Segment(SegmentFilter::read(body)),
            FilterKind::List => Self::List(ListFilter::read(body)),
            FilterKind::Channel => Self::Channel(ChannelFilter::read(body)),
            FilterKind::Engagement => Self::Engagement(EngagementFilter::read(body)),
        }
    }
}

fn every_operator() -> Vec<Operator> {
    Operator::NAMED.iter().map(|(_, known)| *known).collect()
}

/// The statuses of consent that can be recorded.
const STATUSES: &[&str] = &["optedIn", "subscribed", "unsubscribed"];

impl ChannelFilter {
    const OPERATORS: &'static [Operator] = &[
        Operator::Equals,
        Operator::NotEquals,
        Operator::In,
        Operator::NotIn,
        Operator::Exists,
        Operator::NotExists,
    ];

    fn read(body: &mut Fields<'_>) -> Self {
        let channel = word::read(body.required("field"), Channel::NAMED);
        let criterion = Criterion::read(body, Self::OPERATORS);
        let statuses = match &criterion {
            Criterion::Equals { to, .. } => std::slice::from_ref(to),
            Criterion::In { values, .. } => values,
            _ => &[],
        };
        let is_known = |status: &Scalar| match status {
            Scalar::Text(text) => STATUSES.contains(&text.as_str()),
            _ => false,
        };
        if !statuses.iter().all(is_known) {
            body.refuse("value", format!("must be of: {}", STATUSES.join(", ")));
        }
        Self { channel: channel.unwrap_or(Channel::Email), criterion }
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::stored(deserializer)
    }
}
