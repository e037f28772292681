//! The `millrace` program.

fn main() {}
