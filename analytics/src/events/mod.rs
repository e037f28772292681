//! What is asked about events: lists of the newest, and sums over time.
//!
//! Every answer is exact at the moment it is given: repeats of one event count once, whether
//! ClickHouse has merged them yet or not.

mod aggregate;
mod arrival;
mod export;
mod figure;
mod filter;
mod list;
mod people;
mod profiles;
mod property;
mod recent;
mod times;
mod visits;

pub use aggregate::{
    Aggregate, AggregateAnswer, Bucket, FILLED_BUCKETS_MAX, Metric, Unit, aggregate,
};
pub(crate) use aggregate::{FIRST_OF_ORDERS, NUMBER_IN_TEXT, ORDER_COMPLETED, SUM_OF_FIELD};
pub use arrival::{clock_ms, newest_arrival};
pub(crate) use export::ExportPlaces;
pub use export::{
    Export, ExportFilter, ExportPlace, ExportPosition, ExportedEvent, WINDOW_EVENTS_MAX, export,
    export_place,
};
pub use figure::Figure;
pub use filter::EventFilter;
pub(crate) use filter::Range;
pub use list::{EventRow, of_user, query};
pub use people::{People, PeopleFilter, PersonIds, Tracked, people};
pub use profiles::{Profiles, ProfilesFilter, Times, profiles};
pub use property::{
    FilterError, PROPERTY_FILTERS_MAX, PROPERTY_PATH_KEYS_MAX, PROPERTY_VALUES_MAX, PropertyFilter,
    PropertyValue,
};
pub use recent::{RecentId, recent_client_ids};
pub use times::{TrackedTimes, times_of_people};
pub use visits::{VisitFilter, Visitor, Visitors, engaged_users, visitors};
