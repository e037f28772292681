//! `loadtest`: the command line; exit status 0 is good, 1 is not, 2 is bad usage.

use std::process::ExitCode;

use clap::Parser;
use loadtest::commands::{self, Cli, Ending};

/// Bodies of some hundred kilobytes are made and dropped all the time; glibc would map and unmap each of them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // Load runs on threads of its own; this one shows progress and reads figures.
    let ending = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(commands::run(cli)));
    match ending {
        Ok(Ending::Good) => ExitCode::SUCCESS,
        Ok(Ending::Bad) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("loadtest: {error:#}");
            ExitCode::FAILURE
        }
    }
}
