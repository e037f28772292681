//! `/lists/*` over HTTP.

mod bad_input;
mod isolation;
mod lifecycle;
mod members;
