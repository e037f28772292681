//! Request bytes to JSON tokens, in one pass, in place, without a tree.
//!
//! A [`Scanner`] walks the body once and hands out borrowed tokens; whoever holds it decides what
//! to keep. Compared with a simd-json tape of the same body (measured by `benches/parse.rs`):
//!
//! - the caller's text survives: numbers as written (`0.10`, `1e2`), and properties that are
//!   already compact are taken as one slice of the body;
//! - memory does not depend on the body. A tape costs 16 to 24 bytes a node, so a hostile 32 MiB
//!   of `[0,0,0,…` costs 400 MiB; here nothing is kept but one bit per open bracket;
//! - what is wrong with one element stays with that element. Nesting 10,000 deep, `1e400`,
//!   integers beyond 64 bits and lone surrogates are JSON by RFC 8259, so they reject their event,
//!   while a tape parser refuses the whole body.
//!
//! Grammar: RFC 8259, UTF-8, no byte order mark.

mod nesting;
mod number;
mod plain;
mod scanner;
mod text;

#[cfg(test)]
mod tests;

pub use nesting::Nesting;
pub use number::Number;
pub use scanner::{Expected, Kind, Scanner, SyntaxError};
pub use text::{Text, TextFault, write_json_string};
