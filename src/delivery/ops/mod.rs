//! What is done to make messages leave.

pub mod bell;

pub use self::bell::wake;
