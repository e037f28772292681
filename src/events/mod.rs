//! `/events/*`: tracking, querying and aggregating behavioural events.
