//! The template of a workspace's preference page, and the choices on the page.

mod choice;
mod template;

pub use self::{
    choice::{
        Change, ChannelFacts, Choices, Contact, ListChoice, State, Submission, channel_box,
        is_displayed, list_box,
    },
    template::{
        DESIGN_BYTES_MAX, HTML_BYTES_MAX, Mode, PageTemplate, SLOT, TemplatePatch, html_of,
    },
};
