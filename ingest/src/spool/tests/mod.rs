//! The spool against a fake disk that forgets, fails and flips, and against the real one.

mod basics;
mod copy;
mod damage;
#[cfg(target_os = "linux")]
mod disk;
mod fake;
mod faults;
mod panics;
mod survey;

use std::{path::Path, time::Duration};

use bytes::Bytes;

use super::{Consumer, Durability, Entry, Frame, SpoolOptions};

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(20);

fn options(dir: &Path) -> SpoolOptions {
    SpoolOptions {
        dir: dir.to_owned(),
        segment_bytes: 4096,
        limit_bytes: 64 * 4096,
        reserve_bytes: 0,
        queue_bytes: 1 << 20,
        durability: Durability::Fsync,
    }
}

/// When the first entry came in, milliseconds since 1970; each other a millisecond after the one before.
const BEGAN_MS: u64 = 1_700_000_000_000;

/// An entry that differs from every other: its number, then filler up to `bytes`.
fn entry(number: u64, bytes: usize) -> Entry {
    let mut payload = number.to_le_bytes().to_vec();
    payload.resize(bytes.max(8), number.to_le_bytes()[0] ^ 0x5a);
    Entry { payload: Bytes::from(payload), events: 3, at_ms: BEGAN_MS + number }
}

fn number(frame: &Frame) -> u64 {
    u64::from_le_bytes(frame.payload[..8].try_into().unwrap())
}

/// The next `count` entries' numbers.
fn take(consumer: &mut Consumer, count: usize) -> Vec<u64> {
    (0..count).map(|_| number(&consumer.receive(PATIENCE).unwrap().unwrap())).collect()
}

/// What is left now.
fn drain(consumer: &mut Consumer) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Ok(Some(frame)) = consumer.receive(Duration::ZERO) {
        numbers.push(number(&frame));
    }
    numbers
}
