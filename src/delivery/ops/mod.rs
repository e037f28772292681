//! What is done to make messages leave.

mod campaign_context;
mod carriers;
mod channel_fault;
mod confirming;
pub mod devices;
mod dispatch;
mod eligibility;
pub mod engagement;
mod enqueue;
mod evaluating;
pub mod feedback;
pub mod keywords;
mod lifecycle;
mod preview_launch;
mod queues;
mod recheck;
mod retention;
mod send;
mod senders;
mod sweeping;
pub mod test_send;
mod timing;
pub mod transactional;
mod volume;
pub mod worker;

pub use self::preview_launch::preview_launch;
