//! Operations on the template, and the recipients' actions on the pages.

pub mod recipient;
pub mod template;
