//! What authors do with the template, and recipients on the pages.

pub mod recipient;
pub mod template;
