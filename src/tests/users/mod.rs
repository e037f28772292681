//! `/users/*`.

mod events;
