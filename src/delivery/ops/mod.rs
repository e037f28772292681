//! What is done to make messages leave.

pub mod bell;
pub mod devices;
pub mod engagement;
pub mod feedback;
pub mod keywords;

pub use self::bell::wake;
