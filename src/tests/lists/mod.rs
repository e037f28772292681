//! `/lists/*` over HTTP.

mod bad_input;
mod lifecycle;
mod members;
mod walls;
