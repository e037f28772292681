//! The pages of recipients: the built-in ones, and the workspace's own with the form inserted.

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
    /// Whether a change has just been saved.
    pub(super) saved: bool,
    /// The form's target: empty for the page itself.
    pub(super) action: &'static str,
}

impl Filled {
    pub(super) fn page(choices: Choices, saved: bool) -> Self {
        Self { choices, saved, action: "" }
    }
}
