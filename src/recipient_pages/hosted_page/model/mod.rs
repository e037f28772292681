//! The template of a workspace's preference page, and what a recipient can choose there.

mod choice;
mod template;

pub use self::{
    choice::{
        Change, Choices, Contact, Known, ListChoice, State, Submission, channel_box, is_shown,
        list_box,
    },
    template::{
        DESIGN_BYTES_MAX, HTML_BYTES_MAX, Mode, PageTemplate, SLOT, TemplatePatch, html_of,
    },
};
