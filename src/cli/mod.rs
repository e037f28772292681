//! The command line.
//!
//! Exit status: 0 success, 1 failure with one line on standard error, 2 invalid usage. Standard output holds
//! only the requested data.

mod backup;
mod console;
mod dead_letters;
mod doctor;
mod engine;
mod flags;
mod keys;
mod links;
mod output;
mod people;
mod sdk;
mod sessions;
mod stores;
mod transfer;
mod webhooks;
mod workspaces;

use std::{
    io::{IsTerminal as _, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use config::Settings;
use web::telemetry;

use self::{
    backup::{Backup, Restore},
    console::Console,
    dead_letters::DeadLetters,
    doctor::Doctor,
    engine::Engine,
    flags::Flags,
    keys::Keys,
    links::LinkCommand,
    people::People,
    sdk::Sdk,
    sessions::Session,
    transfer::{Export, Import},
    webhooks::Webhooks,
    workspaces::Workspaces,
};
use crate::server;

/// Customer-engagement platform: events, profiles, consent, campaigns.
#[derive(Debug, Parser)]
#[command(name = "millrace", version, about, disable_help_subcommand = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the service; embedded engines by default
    Serve {
        /// Prints the first key although standard output is not a terminal
        #[arg(long)]
        show_key: bool,
    },
    /// API keys and SDK keys
    #[command(subcommand)]
    Keys(Keys),
    /// Workspaces and their settings
    #[command(subcommand)]
    Workspaces(Workspaces),
    /// Sessions of people in the dashboard
    #[command(subcommand)]
    Sessions(Session),
    /// Signing in at the console
    #[command(subcommand)]
    Console(Console),
    /// Links that messages carry
    #[command(subcommand)]
    Links(LinkCommand),
    /// Webhooks that call your endpoints
    #[command(subcommand)]
    Webhooks(Webhooks),
    /// User tokens of apps
    #[command(subcommand)]
    Sdk(Sdk),
    /// Writes data of a workspace into a file, by a running server
    #[command(subcommand)]
    Export(Export),
    /// Takes data of a file into a workspace, by a running server
    #[command(subcommand)]
    Import(Import),
    /// Rows that ClickHouse refused
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Copies of profiles and campaigns in ClickHouse
    #[command(subcommand)]
    People(People),
    /// Copies everything into a folder, while the server runs or not
    Backup(Backup),
    /// Puts a backup into an empty data directory, and into empty external stores
    Restore(Restore),
    /// Checks the machine and the settings, and says what to do
    Doctor(Doctor),
    /// Brings both stores to the newest schema and stops
    Migrate,
    /// Runs one embedded engine; started by `serve`
    #[command(subcommand, hide = true)]
    Engine(Engine),
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    let line = CommandLine::parse(); // invalid usage ends the process with 2
    match execute(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("{error:#}");
            let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
            // If standard error is closed, only the status is left.
            let _ = writeln!(std::io::stderr(), "millrace: {text}");
            ExitCode::FAILURE
        }
    }
}

fn execute(line: CommandLine) -> anyhow::Result<()> {
    if let Command::Engine(engine) = &line.command {
        return engine::run(engine);
    }
    let settings = Settings::load(&line.flags.into(), &providers::Registry);
    if let Command::Doctor(command) = line.command {
        return block_on(doctor::run(command, settings))?;
    }
    let settings = settings?;
    match line.command {
        Command::Serve { show_key } => {
            telemetry::logs::start();
            block_on(server::serve(settings, show_key || std::io::stdout().is_terminal()))?
        }
        Command::Keys(command) => block_on(keys::run(command, &settings))?,
        Command::Workspaces(command) => block_on(workspaces::run(command, &settings))?,
        Command::Sessions(command) => block_on(sessions::run(command, &settings))?,
        Command::Console(command) => block_on(console::run(command, &settings))?,
        Command::Links(command) => block_on(links::run(command, &settings))?,
        Command::Webhooks(command) => block_on(webhooks::run(command, &settings))?,
        Command::Sdk(command) => block_on(sdk::run(command, &settings))?,
        Command::Export(command) => block_on(transfer::export(command, &settings))?,
        Command::Import(command) => block_on(transfer::import(command, &settings))?,
        Command::DeadLetters(command) => block_on(dead_letters::run(command, &settings))?,
        Command::People(command) => block_on(people::run(command, &settings))?,
        Command::Backup(command) => block_on(backup::back_up(command, &settings))?,
        Command::Restore(command) => block_on(backup::restore(command, &settings))?,
        Command::Migrate => block_on(stores::migrate(&settings))?,
        Command::Engine(_) | Command::Doctor(_) => Ok(()),
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    Ok(runtime.block_on(work))
}
