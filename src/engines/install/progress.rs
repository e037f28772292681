//! Shows the progress of an installation: a bar on a terminal, a line in a log.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs `work` while displaying the bytes that have arrived in `folder`.
pub(super) fn while_filling<T>(
    engine: &str,
    folder: &Path,
    bytes: u64,
    work: impl FnOnce() -> T,
) -> T {
    let bar = ProgressBar::new(bytes);
    if bar.is_hidden() {
        tracing::info!(engine, about = %HumanBytes(bytes), "installing {engine}, once for this machine");
        return work();
    }
    let style = ProgressStyle::with_template(
        "installing {msg} [{bar:32}] {bytes}/{total_bytes} {bytes_per_sec} {elapsed}",
    )
    .expect("the template is valid");
    bar.set_style(style.progress_chars("=> "));
    bar.set_message(engine.to_owned());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                bar.set_position(size(folder).min(bytes));
                std::thread::park_timeout(POLL_INTERVAL);
            }
            bar.finish_and_clear();
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        result
    })
}

/// Bytes of all files below `folder`; files that vanish meanwhile count as 0.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
