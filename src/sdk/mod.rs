//! `/v1/*`: what apps and pages talk to, by an SDK key that anybody who has the app can read. Such a key
//! tells of people and their devices, and reads nothing but the in-app messages of the person it names.

pub mod api;
pub mod model;
pub mod ops;
mod origins;
mod store;

pub use self::origins::{NotAnOrigin, Origin, Origins};
