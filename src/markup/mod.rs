//! HTML as authors write it: whether it is of a shape that can be handled, and what its reader sees.

mod bounds;
mod page;

pub use self::{
    bounds::{ATTRIBUTES_MAX, DEPTH_MAX, is_bounded},
    page::{Link, Page},
};
