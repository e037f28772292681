//! What is done to make messages leave.

pub mod bell;
mod confirming;
pub mod devices;
mod dispatch;
pub mod engagement;
pub mod feedback;
mod handover;
mod judging;
pub mod keywords;
mod lanes;
mod note;
mod scene;
mod sweeping;
pub mod test_send;
pub mod transactional;
pub mod worker;
mod writing;

pub use self::bell::wake;
