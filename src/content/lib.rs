//! The content of messages: Liquid templates, HTML and spam checks, each within limits.

pub mod markup;
pub mod spam;
pub mod template;
