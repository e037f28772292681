//! What is done to make messages leave.

pub mod bell;
pub mod devices;

pub use self::bell::wake;
