//! The migrations are compiled into the program, so a new file among them requires a new build.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations/postgres");
    println!("cargo::rerun-if-changed=build.rs");
}
