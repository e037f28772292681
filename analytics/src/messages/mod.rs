//! What became of messages.
//!
//! Reports count rows of `message_outcomes`, one a message, by the rules of `sql/message_final.sql`; what
//! has to be distinguished event by event is read from `message_events`.

mod conversions;
mod counts;
mod delays;
mod failures;
mod in_app;
mod links;
mod outcomes;
mod people;
mod recipients;
mod rewards;
mod spans;
mod timeline;
mod touches;

pub use conversions::{Conversion, ConversionFilter, Conversions, conversions, sole_base_currency};
pub use counts::{Count, Engagements, clicks, counts, engagements};
pub use delays::{DELAY_EDGES_SECONDS, Delays, delays};
pub use failures::{Failure, failures};
pub use in_app::{
    InAppCampaign, InAppCount, InAppPlace, Showing, ShowingFilter, TAIL_DISPLAYS, in_app_counts,
    in_app_places, showings,
};
pub use links::{Link, LinkOfVariant, links};
pub use outcomes::Cohort;
pub use people::{EngagedPeople, Engagement, EngagementFilter, includes, people};
pub use recipients::{Recipient, RecipientFilter, RecipientStatus, messages_to, recipients};
pub use rewards::{Reward, RewardFilter, rewards};
pub use spans::{Span, spans};
pub use timeline::{Happening, timeline};
pub use touches::{PEOPLE_MAX, Touch, TouchFilter, touches};
