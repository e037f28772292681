//! The data directory: permissions, file system, room, and how long an fsync takes.

use std::{
    io,
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use config::{Durability, Settings};
use ingest::spool::{Disk, Files as _, Survey};

use super::finding::Finding;
use crate::server::SPOOL_RESERVE_BYTES;

/// Bytes of one measured write: those of a group commit under some load.
const WRITE_BYTES: usize = 16 << 10;
const SYNCS_MAX: u32 = 200;
const MEASURE_MAX: Duration = Duration::from_secs(2);
/// The time in which events are to be acknowledged, of which an fsync is the largest part.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(25);
/// The permissions of the group and of all others.
const OTHERS: u32 = 0o077;

const PERMISSIONS: &str = "data directory";
const ROOM: &str = "disk room";
const FSYNC: &str = "fsync";
const FILE_SYSTEM: &str = "file system";

/// What is known of a file system by its number in `statfs`.
#[cfg(target_os = "linux")]
fn unsuitable(dir: &Path) -> Option<&'static str> {
    use nix::sys::statfs::{self, statfs};
    let kind = statfs(dir).ok()?.filesystem_type();
    [
        (statfs::TMPFS_MAGIC, "is in memory and is lost with the machine"),
        (statfs::NFS_SUPER_MAGIC, "is on NFS, where locks and fsync depend on another machine"),
        (statfs::FUSE_SUPER_MAGIC, "is on FUSE, where fsync does what a program makes of it"),
    ]
    .into_iter()
    .find_map(|(magic, text)| (kind == magic).then_some(text))
}

#[cfg(not(target_os = "linux"))]
fn unsuitable(_: &Path) -> Option<&'static str> {
    None
}

/// All checks of the data directory and of the disk that it is or will be on.
pub(super) fn check(settings: &Settings, spool: Option<&Survey>) -> Vec<Finding> {
    let mut findings = vec![permissions(&settings.data_dir)];
    let Some(dir) = existing(&settings.data_dir) else { return findings };
    findings.push(match unsuitable(&dir) {
        None => Finding::ok(FILE_SYSTEM, "local"),
        Some(why) => Finding::warning(
            FILE_SYSTEM,
            format!("{} {why}", dir.display()),
            "set data_dir to a folder on a local disk",
        ),
    });
    findings.push(match Disk.available_bytes(&dir) {
        Ok(available) => room(available, settings.spool.limit_bytes, spool),
        Err(error) => Finding::warning(ROOM, format!("not checked: {error}"), "check it with df"),
    });
    findings.push(match measure(&dir) {
        Ok(latency) => fsync(latency, settings.spool.durability),
        Err(error) => Finding::wrong(
            FSYNC,
            format!("a file in {} cannot be written: {error}", dir.display()),
            "give the folder to the user that runs Millrace, and free disk space",
        ),
    });
    findings
}

/// The folder, or the nearest one above it that exists.
fn existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|step| step.is_dir()).map(Path::to_owned)
}

fn permissions(path: &Path) -> Finding {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Finding::ok(PERMISSIONS, format!("{shown} does not exist yet; a start creates it"))
        }
        Err(error) => Finding::wrong(
            PERMISSIONS,
            format!("{shown} cannot be read: {error}"),
            "give it to the user that runs Millrace",
        ),
        Ok(found) if !found.is_dir() => {
            Finding::wrong(PERMISSIONS, format!("{shown} is no folder"), "set data_dir to a folder")
        }
        Ok(found) => match found.permissions().mode() & 0o777 {
            mode if mode & OTHERS == 0 => Finding::ok(PERMISSIONS, format!("{shown} is private")),
            mode => Finding::warning(
                PERMISSIONS,
                format!("other users have permissions on {shown} ({mode:04o})"),
                format!("chmod 700 {shown}; a start removes them, too"),
            ),
        },
    }
}

/// Compares the free room with what the spool may still take.
fn room(available: u64, limit: u64, spool: Option<&Survey>) -> Finding {
    let taken = spool.map_or(0, |spool| spool.used_bytes + spool.free_bytes);
    let growth = limit.saturating_sub(taken);
    let what = format!(
        "{} free; the spool may take {} more (spool.limit_bytes) and leaves {}",
        size(available),
        size(growth),
        size(SPOOL_RESERVE_BYTES)
    );
    if available < SPOOL_RESERVE_BYTES {
        let action = "free disk space now: events are refused with 503";
        return Finding::wrong(ROOM, what, action);
    }
    let lacking = (growth + SPOOL_RESERVE_BYTES).saturating_sub(available);
    if lacking > 0 {
        let action = format!("free {}, or lower spool.limit_bytes", size(lacking));
        return Finding::warning(ROOM, what, action);
    }
    Finding::ok(ROOM, what)
}

/// Times of fsyncs, of which half and 99 in a hundred were quicker.
#[derive(Debug, Clone, Copy)]
struct Latency {
    p50: Duration,
    p99: Duration,
}

/// Writes and syncs as the spool does, into a file without a name that is gone when it is closed.
fn measure(dir: &Path) -> io::Result<Latency> {
    let file = tempfile::tempfile_in(dir)?;
    let block = vec![0xa5; WRITE_BYTES];
    let (began, mut times) = (Instant::now(), Vec::new());
    for number in 0..SYNCS_MAX {
        let before = Instant::now();
        file.write_all_at(&block, u64::from(number) * block.len() as u64)?;
        file.sync_data()?;
        times.push(before.elapsed());
        if began.elapsed() > MEASURE_MAX {
            break;
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    Ok(Latency { p50: at(50), p99: at(99) })
}

fn fsync(latency: Latency, durability: Durability) -> Finding {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let what = format!("p50 {:.2} ms, p99 {:.2} ms", ms(latency.p50), ms(latency.p99));
    if durability == Durability::Os {
        return Finding::warning(
            FSYNC,
            format!(
                "{what}; spool.durability is \"os\": a power failure loses acknowledged events"
            ),
            "set spool.durability to \"fsync\"",
        );
    }
    if latency.p99 > ACKNOWLEDGED_WITHIN {
        return Finding::warning(
            FSYNC,
            format!("{what}: events cannot be acknowledged within 25 ms"),
            "set data_dir to a faster disk, or leave this one to Millrace",
        );
    }
    Finding::ok(FSYNC, what)
}

/// A number of bytes for people.
pub(super) fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one decimal place")]
    let shown = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..0x10_0000 => format!("{bytes} B"),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", shown(1 << 20)),
        _ => format!("{:.1} GiB", shown(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Status, *};

    #[test]
    fn room_is_compared_with_what_the_spool_may_still_take() {
        let gib = 1 << 30;
        let spool = |used: u64| Survey { used_bytes: used, ..Survey::default() };
        let cases = [
            (10 * gib, 8 * gib, None, Status::Ok),
            (8 * gib, 8 * gib, None, Status::Warning),
            (2 * gib, 8 * gib, Some(spool(7 * gib)), Status::Ok),
            (gib, 8 * gib, Some(spool(7 * gib)), Status::Warning),
            (gib / 4, 8 * gib, Some(spool(8 * gib)), Status::Wrong),
            (gib, 8 * gib, Some(spool(9 * gib)), Status::Ok),
        ];
        for (available, limit, spool, status) in cases {
            let found = room(available, limit, spool.as_ref());
            assert_eq!(found.status, status, "{found:?}");
            assert_eq!(found.action.is_none(), status == Status::Ok);
        }
    }

    #[test]
    fn a_slow_disk_and_a_weak_durability_are_warnings() {
        let of = |ms| Latency { p50: Duration::from_millis(1), p99: Duration::from_millis(ms) };
        assert_eq!(fsync(of(25), Durability::Fsync).status, Status::Ok);
        assert_eq!(fsync(of(26), Durability::Fsync).status, Status::Warning);
        assert_eq!(fsync(of(1), Durability::Os).status, Status::Warning);
    }

    #[test]
    fn measuring_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let latency = measure(folder.path()).unwrap();
        assert!(latency.p50 > Duration::ZERO && latency.p50 <= latency.p99, "{latency:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(measure(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn permissions_of_others_and_a_file_in_its_place_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        assert_eq!(permissions(&data).status, Status::Ok);
        assert_eq!(existing(&data).as_deref(), Some(folder.path()));
        std::fs::create_dir(&data).unwrap();
        for (mode, status) in [(0o700, Status::Ok), (0o755, Status::Warning)] {
            std::fs::set_permissions(&data, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(permissions(&data).status, status, "{mode:o}");
        }
        std::fs::write(folder.path().join("file"), "").unwrap();
        assert_eq!(permissions(&folder.path().join("file")).status, Status::Wrong);
    }

    #[test]
    fn sizes_are_shown_in_fitting_units() {
        for (bytes, text) in [(5, "5 B"), (3 << 20, "3.0 MiB"), (3 << 29, "1.5 GiB")] {
            assert_eq!(size(bytes), text);
        }
    }
}
