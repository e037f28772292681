//! `millrace engine postgres`: becomes the PostgreSQL server, as an unprivileged user.
//!
//! PostgreSQL refuses to run as root, and the account that runs it instead may lack access to the data
//! directory (`/root/…`). So this process opens the cluster's folder while it can, drops its privileges, and
//! passes `/proc/self/fd/N` as the path: the kernel follows that link to the open folder without checking its
//! parents. The files stay where the operator wants them, and the data directory stays closed to all other
//! accounts.
//!
//! The server asks the kernel for a signal when its parent dies, so that it does not outlive a `kill -9`;
//! where the kernel lacks that, this process stays and watches its standard input.

use std::{
    fs::File,
    io,
    os::fd::AsFd as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::Context as _;
use nix::{
    sys::stat::{Mode, umask},
    unistd::{Uid, User, setgid, setuid},
};

use super::{PORT, cluster};

/// The parent's parameters of the server.
#[derive(Debug, Clone, clap::Args)]
pub struct Launch {
    /// The folder of the cluster and its socket.
    #[arg(long)]
    folder: PathBuf,
    /// The folder of PostgreSQL's programs.
    #[arg(long)]
    programs: PathBuf,
    /// The programs' major version.
    #[arg(long)]
    major: u32,
    /// The account that runs the server.
    #[arg(long)]
    user: String,
    /// Identifies this server in its command line.
    #[arg(long)]
    mark: String,
    /// The process whose death stops the server.
    #[arg(long)]
    parent: i32,
}

/// Runs the server in place of this process. Returns only on failure.
pub fn launch(launch: &Launch) -> anyhow::Result<std::convert::Infallible> {
    let folder =
        if Uid::effective().is_root() { drop_rights(launch)? } else { launch.folder.clone() };
    // PostgreSQL resolves relative names from here, and warns about a folder that it cannot enter.
    std::env::set_current_dir(&folder).context("enter the folder of the cluster")?;
    umask(Mode::S_IRWXG | Mode::S_IRWXO);
    let cluster = cluster::make(&folder, &launch.programs, launch.major)?;
    cluster::write_access(&cluster, &launch.user).context("write who may connect")?;
    let mut server = Command::new(launch.programs.join("postgres"));
    server.arg("-D").arg(&cluster);
    for setting in [
        "listen_addresses=",
        "unix_socket_directories=..", // relative to the cluster, which the server makes its working folder
        "unix_socket_permissions=0700",
        "logging_collector=off",
        "log_destination=stderr",
        &format!("port={PORT}"),
        &format!("cluster_name={}", launch.mark),
    ] {
        server.args(["-c", setting]);
    }
    // Variables of the caller (PGDATA, PGPORT, …) are not meant for this server.
    server.env_clear().env("LC_ALL", "C").env("TZ", "UTC").env("PATH", "/usr/bin:/bin");
    let log = io::stderr().as_fd().try_clone_to_owned()?;
    server.stdin(Stdio::null()).stdout(Stdio::from(log));
    become_server(server, launch.parent)
}

/// Becomes the unprivileged user; returns a path to the folder that is valid for it.
fn drop_rights(launch: &Launch) -> anyhow::Result<PathBuf> {
    let user = User::from_name(&launch.user)?
        .with_context(|| format!("there is no user {}", launch.user))?;
    let folder = open_for_children(&launch.folder)?;
    #[cfg(not(target_vendor = "apple"))]
    nix::unistd::setgroups(&[])?;
    setgid(user.gid)?;
    setuid(user.uid)?;
    anyhow::ensure!(setuid(Uid::from_raw(0)).is_err(), "root's rights could not be given up");
    Ok(folder)
}

/// A path to the folder that works whatever its parents allow.
#[cfg(target_os = "linux")]
fn open_for_children(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    use std::os::fd::IntoRawFd as _;

    use nix::fcntl::{FcntlArg, FdFlag, fcntl};

    let opened = File::open(folder).with_context(|| format!("open {}", folder.display()))?;
    fcntl(&opened, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", opened.into_raw_fd()));
    anyhow::ensure!(
        path.exists(),
        "/proc is not mounted, which running PostgreSQL from root needs"
    );
    Ok(path)
}

#[cfg(not(target_os = "linux"))]
fn open_for_children(folder: &std::path::Path) -> anyhow::Result<PathBuf> {
    File::open(folder).with_context(|| format!("open {}", folder.display()))?;
    Ok(folder.to_owned())
}

/// Replaces this process by the server, which gets SIGINT ("fast shutdown") when the parent dies.
#[cfg(target_os = "linux")]
fn become_server(mut server: Command, parent: i32) -> anyhow::Result<std::convert::Infallible> {
    use std::os::unix::process::CommandExt as _;

    use nix::{
        sys::{prctl::set_pdeathsig, signal::Signal},
        unistd::getppid,
    };

    set_pdeathsig(Signal::SIGINT)?;
    anyhow::ensure!(getppid().as_raw() == parent, "the parent died meanwhile");
    Err(server.exec()).context("run postgres")
}

/// Runs the server and stops it when the parent closes the standard input or dies.
#[cfg(not(target_os = "linux"))]
fn become_server(mut server: Command, _parent: i32) -> anyhow::Result<std::convert::Infallible> {
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    let mut child = server.spawn().context("run postgres")?;
    let pid = Pid::from_raw(i32::try_from(child.id())?);
    std::thread::spawn(move || {
        // Returns at the end of input; an error is an end as well.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = kill(pid, Signal::SIGINT);
    });
    let status = child.wait()?;
    anyhow::bail!("postgres ended: {status}")
}
