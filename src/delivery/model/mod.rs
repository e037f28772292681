//! A message before it is sent: pure values.

pub mod claimed;
mod context;
pub mod eligibility;
mod keyword;
pub mod merged;
pub mod message;
pub mod plan;
mod recipient;
pub mod retry;
mod segments;
pub mod skip;

pub use self::{
    context::{Context, Named, StoredContent},
    keyword::Keyword,
    recipient::Recipient,
    segments::{Alphabet, Segments, segments},
};
