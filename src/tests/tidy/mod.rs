//! Tests of the sources: which module may import which, how large files are, which words they use.
//!
//! A crate of its own that depends on nothing of the workspace, so that `cargo test -p tidy` takes seconds. Rules
//! that the code does not satisfy everywhere yet have a `*_REMAINING` number, which may only become smaller;
//! `cargo test -p tidy -- --nocapture` prints the present ones.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "a rule says how much of it remains")]

mod boundaries;
mod conditions;
mod crates;
mod cycles;
mod documents;
mod features;
mod imports;
mod paths;
mod planted;
mod schemas;
mod signatures;
mod sizes;
mod sources;
mod words;

use sources::Finding;

/// What remains is listed when there is little of it.
const SHOWN_MAX: usize = 250;

/// Fails when more findings break a rule than are known to, and lists them.
#[track_caller]
fn at_most(remaining: usize, rule: &str, mut findings: Vec<Finding>) {
    findings.sort();
    let count = findings.len();
    println!("{rule}: {count} of at most {remaining}");
    if count > 0 && count <= SHOWN_MAX {
        for finding in &findings {
            println!("    {finding}");
        }
    }
    assert!(
        count <= remaining,
        "{rule}: {count}, more than the {remaining} that remain:\n{}",
        findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("\n")
    );
}
