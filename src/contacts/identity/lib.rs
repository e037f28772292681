//! One person, many identifiers: links of anonymous ids, aliases, and merges of profiles.

pub mod api;
pub mod model;
pub mod ops;
mod store;
