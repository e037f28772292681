//! Which in-app messages suit an app and a moment, and what apps tell of them. Pure.

mod occasion;
mod told;

pub use self::{
    occasion::{App, Occasion, Shown, may_show, suits},
    told::{Kind, Told, hash_of},
};
