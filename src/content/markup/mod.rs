//! HTML as authors write it: whether it is of a shape that can be handled, and what its reader sees.

mod anatomy;
mod bounds;
mod entity;
mod page;
mod scope;
mod tag;

pub use self::{
    anatomy::{Anatomy, Anchor},
    bounds::{ATTRIBUTES_MAX, DEPTH_MAX, is_bounded},
    entity::escaped,
    page::{Link, Page},
    scope::scoped,
};
