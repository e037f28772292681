//! Request bytes to JSON tokens, in one pass, in place, without a tree.
//!
//! A [`Scanner`] walks the body once and hands out borrowed tokens; whoever holds it decides what
//! to keep. DESIGN names a simd-json tape here. What speaks for the scanner (`benches/README.md`
//! has the speed of both, which is alike):
//!
//! - the caller's text survives: numbers as written (`0.10`, `1e2`), and properties that are
//!   already compact are taken as one slice of the body;
//! - memory hardly depends on the body: one bit per open bracket, where a tape keeps a node of
//!   tens of bytes for each of the 16 million values a hostile 32 MiB of `[0,0,0,…` holds;
//! - what is wrong with one element stays with that element. Nesting 10,000 deep, `1e400`,
//!   integers beyond 64 bits and lone surrogates are within the grammar of RFC 8259, so they
//!   reject their event and not its neighbours.
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
