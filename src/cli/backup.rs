//! `millrace backup DIR` and `millrace restore DIR`.

use std::{
    env::VarError,
    io::{IsTerminal as _, Write as _},
    path::PathBuf,
    time::Duration,
};

use anyhow::Context as _;
use backup::{BackupOptions, Progress, RestoreOptions, Restored};
use clap::Args;
use config::Settings;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use parking_lot::Mutex;
use secrecy::SecretString;

/// The passphrase of a backup.
const VARIABLE: &str = "MILLRACE_BACKUP_PASSPHRASE";
/// How often a progress bar is drawn.
const TICK: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The folder of the backup, which must not exist or be empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The folder of the backup
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    passphrase: Passphrase,
}

#[derive(Debug, Args)]
struct Passphrase {
    /// A file with the passphrase of the backup, on its first line [env: MILLRACE_BACKUP_PASSPHRASE is the passphrase itself]
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Passphrase {
    /// The passphrase, if one is given. One that is empty is refused: it would leave the backup open.
    fn read(&self) -> anyhow::Result<Option<SecretString>> {
        let text = match (&self.passphrase_file, std::env::var(VARIABLE)) {
            (Some(file), _) => std::fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?,
            (None, Ok(text)) => text,
            (None, Err(VarError::NotPresent)) => return Ok(None),
            (None, Err(error)) => return Err(error).context(VARIABLE),
        };
        let line = text.lines().next().unwrap_or_default();
        anyhow::ensure!(!line.is_empty(), "the passphrase is empty");
        Ok(Some(line.into()))
    }
}

pub(super) async fn back_up(command: Backup, settings: &Settings) -> anyhow::Result<()> {
    let (progress, bar) = progress();
    let passphrase = command.passphrase.read()?;
    let options = BackupOptions { settings, target: command.dir.clone(), passphrase, progress };
    let made = interruptible(Box::pin(backup::back_up(options))).await;
    bar.finish_and_clear();
    let made = made?;
    let has_own_key = settings.security.master_key.is_none();
    note(&format!(
        "{} files, {}, in {}",
        made.files,
        HumanBytes(made.bytes),
        command.dir.display()
    ));
    if has_own_key && !made.has_secrets {
        note(
            "the master key is not in the backup ([backup] secrets): keep secrets/master.key of the data directory elsewhere",
        );
    }
    Ok(())
}

pub(super) async fn restore(command: Restore, settings: &Settings) -> anyhow::Result<()> {
    let (progress, bar) = progress();
    let passphrase = command.passphrase.read()?;
    let options = RestoreOptions { settings, source: command.dir, passphrase, progress };
    let restored = interruptible(Box::pin(backup::restore(options))).await;
    bar.finish_and_clear();
    report(&restored?);
    Ok(())
}

fn report(restored: &Restored) {
    note(&format!("{} rows", restored.rows));
    if restored.paused > 0 {
        note(&format!(
            "{} campaigns are paused: what they sent after the backup was made is not known here, so resume or cancel each",
            restored.paused
        ));
    }
    if restored.given_up > 0 {
        note(&format!(
            "{} single messages and confirmations waited in the backup and will not be sent: they may have been since",
            restored.given_up
        ));
    }
    match restored.opens_secrets {
        Some(true) => {}
        Some(false) => note(
            "secrets in the backup were sealed with another master key than this one: set security.master_key to it before the server starts",
        ),
        None => note(
            "there is no master key: set security.master_key, or put secrets/master.key of the former data directory into this one, before the server starts",
        ),
    }
}

/// Ends the work when it is interrupted, so that nothing half is left.
async fn interruptible<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::select! {
        done = work => done,
        interrupted = crate::shutdown::signalled() => {
            interrupted?;
            Err(anyhow::anyhow!("interrupted"))
        }
    }
}

/// A bar on a terminal, else a line for each step.
fn progress() -> (Progress, ProgressBar) {
    let bar = if std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{msg} {bytes} {bytes_per_sec} {elapsed}");
        let bar = ProgressBar::new_spinner().with_style(style.expect("the template is valid"));
        bar.enable_steady_tick(TICK);
        bar
    } else {
        ProgressBar::hidden()
    };
    let (shown, last) = (bar.clone(), Mutex::new(String::new()));
    let progress = Progress::new(move |step, bytes| {
        let mut last = last.lock();
        if *last != step {
            step.clone_into(&mut last);
            shown.set_message(step.to_owned());
            if shown.is_hidden() {
                note(step);
            }
        }
        shown.set_position(bytes);
    });
    (progress, bar)
}

fn note(text: &str) {
    // Fails only if standard error is closed: then no notes are wanted.
    let _ = writeln!(std::io::stderr(), "{text}");
}
