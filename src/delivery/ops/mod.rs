//! What is done to make messages leave.

mod carriers;
mod channel_fault;
mod confirming;
pub mod devices;
mod dispatch;
pub mod engagement;
mod evaluating;
pub mod feedback;
mod handover;
mod judging;
pub mod keywords;
mod lanes;
mod note;
mod preview_launch;
mod recheck;
mod retention;
mod scene;
mod senders;
mod sweeping;
pub mod test_send;
mod timing;
pub mod transactional;
mod volume;
pub mod worker;
mod writing;

pub use self::preview_launch::preview_launch;
