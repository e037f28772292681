//! The migrations are built into the program; a new file among them is a reason to build again.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations/postgres");
    println!("cargo::rerun-if-changed=build.rs");
}
