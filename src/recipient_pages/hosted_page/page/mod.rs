//! The pages recipients see: the built-in ones, and the workspace's own with our form in its place.

mod authored;
mod form;
mod layout;
mod notice;
mod sample;
mod sanitize;

pub use self::notice::refusal;
pub(super) use self::{
    authored::authored,
    form::built_in,
    layout::document,
    notice::{
        Subject, confirm_everything, confirm_subscription, confirm_unsubscribe, done_everything,
        done_subscription, done_unsubscribe, of_test,
    },
};

use super::model::Choices;

#[derive(Debug, Clone)]
pub(super) struct Filled {
    pub(super) choices: Choices,
    /// Whether something has just been saved.
    pub(super) saved: bool,
    /// Where the form is sent: empty for the page itself.
    pub(super) action: &'static str,
}

impl Filled {
    /// The page of a recipient.
    pub(super) fn page(choices: Choices, saved: bool) -> Self {
        Self { choices, saved, action: "" }
    }
}
