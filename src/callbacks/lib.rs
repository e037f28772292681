//! `/callbacks/*`: reports of providers, mail servers and recipients on messages that were sent.
//!
//! Each source has its own authentication. A report is applied before it is answered, so that an acknowledged report
//! cannot be lost; if that fails, the answer asks for another try. Repeats are harmless.

pub mod api;
pub mod inbound;
pub mod model;
pub mod ops;
mod sources;
mod state;

pub use self::{sources::CallbackSources, state::CallbackState};
