//! The targets of links in messages: the preference page, open pixels and tracked links.

pub mod hosted_page;
pub mod tracking;

mod state;

pub use self::state::PageState;
