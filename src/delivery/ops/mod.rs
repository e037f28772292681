//! Operations of delivery.

pub mod channels;
pub mod devices;
pub(crate) mod enqueue;
mod experiments;
pub mod feedback;
pub mod in_app_tests;
pub mod lifecycle;
mod preview;
mod queues;
pub mod restored;
mod retention;
mod send;
mod sweep;
pub mod transactional;
pub mod worker;

pub use self::{
    feedback::{engagement, keywords},
    preview::{PersonEligibility, eligibility, preview_launch},
    transactional::{channel_test, rendering, test_send},
};
