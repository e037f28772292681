//! Switches on the features of shared libraries that only the libraries of tests need, so that `cargo build` and
//! `cargo test` build each library once. Without it the first test after a build takes minutes. Nothing else is here.
