//! What the links in messages lead to: the preference page, opens and clicks.

pub mod hosted_page;
pub mod tracking;

mod state;

pub use self::state::PageState;
