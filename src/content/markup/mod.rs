//! HTML of campaigns: bounds on its shape, its outline, and the text and links a reader sees.

mod bounds;
#[cfg(test)]
mod comparison;
mod entity;
mod outline;
mod page;
mod scope;
mod tag;

pub use self::{
    bounds::{ATTRIBUTES_MAX, DEPTH_MAX, is_bounded},
    entity::escaped,
    outline::{Anchor, HtmlOutline},
    page::{Link, Page},
    scope::scoped,
};
