//! A server as a process of its own, to be killed and started again.

use std::{
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{Client, prepared, server::MILLRACE};

/// `millrace serve` on a data directory.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    reaper: Child,
    /// The line in which it said that it is ready.
    pub(crate) ready: String,
    /// What it said before.
    pub(crate) startup_output: String,
    pub(crate) url: String,
    pub(crate) admin_url: String,
}

/// What the program's standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Pipe,
    Terminal,
}

impl Process {
    /// Starts the program and waits until it says that it is ready. The first start on a folder also
    /// gives the demo key.
    pub(crate) async fn start(
        data_dir: &Path,
        environment: &[(&str, String)],
    ) -> (Self, Option<String>) {
        let copied = if prepared::has_own_stores(environment.iter().map(|(name, _)| *name)) {
            let to = data_dir.to_owned();
            tokio::task::spawn_blocking(move || prepared::copy_to(&to)).await.unwrap()
        } else {
            None
        };
        let (process, key) = Self::first_start(data_dir, environment).await;
        (process, key.or(copied))
    }

    /// Likewise, and a new folder is the program's to fill.
    pub(crate) async fn first_start(
        data_dir: &Path,
        environment: &[(&str, String)],
    ) -> (Self, Option<String>) {
        Self::start_other(Path::new(MILLRACE), data_dir, environment).await
    }

    /// Likewise, another release's program.
    pub(crate) async fn start_other(
        program: &Path,
        data_dir: &Path,
        environment: &[(&str, String)],
    ) -> (Self, Option<String>) {
        let mut command = serve(program, data_dir, &["--show-key"], Stdio::inherit());
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        start(command, Output::Pipe).await
    }

    /// Likewise, without asking for the key.
    pub(crate) async fn start_plainly(data_dir: &Path, output: Output) -> (Self, Option<String>) {
        start(serve(Path::new(MILLRACE), data_dir, &[], Stdio::inherit()), output).await
    }

    /// Likewise, with its log in a file.
    pub(crate) async fn start_logged(data_dir: &Path, log: std::fs::File) -> Self {
        start(serve(Path::new(MILLRACE), data_dir, &[], log.into()), Output::Pipe).await.0
    }

    pub(crate) fn client(&self, key: &str) -> Client {
        Client::new(&self.url, Some(key))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(self) {
        drop(self);
    }

    /// SIGTERM; gives the exit status.
    pub(crate) async fn stop(self) -> std::process::ExitStatus {
        tokio::task::spawn_blocking(move || self.terminate()).await.unwrap()
    }

    fn terminate(mut self) -> std::process::ExitStatus {
        dismiss(&mut self.reaper);
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        self.child.wait().unwrap()
    }
}

/// A test that fails leaves no server behind. One that was stopped has been waited for already.
impl Drop for Process {
    fn drop(&mut self) {
        dismiss(&mut self.reaper);
        if self.child.try_wait().unwrap().is_none() {
            self.child.kill().unwrap();
            self.child.wait().unwrap();
        }
    }
}

/// Kills the server when this process is gone: one that tests share is never dropped. The end of our side of
/// the pipe is what it waits for.
fn reaper(of: &Child) -> Child {
    Command::new("sh")
        .args(["-c", "read -r _; kill -9 \"$0\"", &of.id().to_string()])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Before the server's end is waited for: its number may soon be another's.
fn dismiss(reaper: &mut Child) {
    if reaper.try_wait().unwrap().is_none() {
        reaper.kill().unwrap();
        reaper.wait().unwrap();
    }
}

fn serve(program: &Path, data_dir: &Path, flags: &[&str], log: Stdio) -> Command {
    let mut command = Command::new(program);
    command
        .arg("serve")
        .args(flags)
        .env("MILLRACE_DATA_DIR", data_dir)
        .env("MILLRACE_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_ADMIN_LISTEN", "127.0.0.1:0")
        .env("MILLRACE_SQL_LISTEN", "off")
        .env_remove("DATABASE_URL")
        .env_remove("CLICKHOUSE_URL")
        .stdin(Stdio::null())
        .stderr(log);
    command
}

/// Starts the program on a new folder, and stops it. Gives the demo key.
pub(super) fn first_start(data_dir: &Path) -> String {
    let command = serve(Path::new(MILLRACE), data_dir, &["--show-key"], Stdio::inherit());
    let (process, key) = until_ready(command, Output::Pipe);
    assert!(process.terminate().success());
    key.expect("the first start prints a key")
}

async fn start(command: Command, output: Output) -> (Process, Option<String>) {
    tokio::task::spawn_blocking(move || until_ready(command, output)).await.unwrap()
}

fn until_ready(mut command: Command, output: Output) -> (Process, Option<String>) {
    let (mut child, out): (Child, Box<dyn Read>) = match output {
        Output::Pipe => {
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let out = child.stdout.take().unwrap();
            (child, Box::new(out))
        }
        Output::Terminal => {
            let terminal = nix::pty::openpty(None, None).unwrap();
            let child = command.stdout(Stdio::from(terminal.slave)).spawn().unwrap();
            (child, Box::new(std::fs::File::from(terminal.master)))
        }
    };
    drop(command);
    let (mut key, mut startup_output) = (None, String::new());
    for line in BufReader::new(out).lines() {
        // A terminal whose program has ended answers with an error.
        let Ok(line) = line else { break };
        if line.trim_start().starts_with("mr_") {
            key = Some(line.trim().to_owned());
        }
        if let Some(rest) = line.strip_prefix("Millrace is ready.") {
            let urls: Vec<&str> =
                rest.split_whitespace().filter(|word| word.starts_with("http://")).collect();
            let url = urls[0].trim_end_matches("/readyz").to_owned();
            let admin_url = urls[urls.len() - 1].trim_end_matches("/metrics").to_owned();
            let ready = line.clone();
            return (
                Process { reaper: reaper(&child), child, ready, startup_output, url, admin_url },
                key,
            );
        }
        startup_output += &line;
        startup_output.push('\n');
    }
    panic!("the server ended before it was ready: {:?}", child.wait());
}
