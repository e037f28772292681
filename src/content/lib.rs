//! The content of messages: Liquid templates, HTML and spam checks, each within limits.

#[cfg(test)]
mod cpu_time;
pub mod markup;
pub mod spam;
pub mod template;
