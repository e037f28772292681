//! Mail that came back: pure functions over bytes.

mod mail;

pub use self::mail::{NotMail, Returned, returned};
