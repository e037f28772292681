//! Request bytes to a tape of JSON values, by simd-json.
//!
//! A [`Parser`] keeps the memory of the tape from one request to the next. It parses a copy of the
//! body, since simd-json writes decoded strings over their escapes, and hands out the tape's nodes:
//! [`members`] and [`elements`] walk them without a tree being built.
//!
//! A tape is all or nothing, and keeps a node of tens of bytes for each value. So what it refuses,
//! and bodies beyond [`TAPE_BYTES_MAX`], are taken apart by [`pieces`] and parsed piece by piece:
//! what is wrong with one event (`1e400`, integers beyond 64 bits, lone surrogates, nesting 10,000
//! deep, all within the grammar of RFC 8259) stays with that event.

mod double;
mod nodes;
pub(crate) mod pieces;
mod plain;
mod source;
mod tape;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use double::write_double;
pub(crate) use nodes::{elements, members, number};
pub(crate) use source::{Mark, Source};
pub use tape::{NESTING_MAX, Parser, TAPE_BYTES_MAX};
pub(crate) use text::write_json_string;
