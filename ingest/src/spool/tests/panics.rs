//! Panics of the writer: what it acknowledged stays, what it did not is refused, and it goes on.

use std::{path::Path, sync::Arc, time::Instant};

use supervisor::Workers;

use super::{PATIENCE, drain, entry, fake::FakeFiles, options};
use crate::spool::{AppendError, Spool, WRITER};

/// Appends entries until they are taken; gives how often one was refused meanwhile.
fn append_patiently(spool: &Spool, number: u64) -> u32 {
    let (began, mut refused) = (Instant::now(), 0);
    loop {
        match spool.append_blocking(entry(number, 700)) {
            Ok(_) => return refused,
            Err(AppendError::Restarting) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(began.elapsed() < PATIENCE, "the writer was not restarted");
    }
}

#[test]
fn wherever_the_writer_panics_nothing_acknowledged_is_lost_or_doubled() {
    let mut panics = 0;
    for after in 0..30 {
        let files = FakeFiles::default();
        let workers = Workers::default();
        let started = Spool::start(Arc::new(files.clone()), options(Path::new("/spool")), &workers);
        let (spool, _) = started.unwrap();
        let mut consumer = spool.consumer("test").unwrap();
        append_patiently(&spool, 0);
        files.panic_after(after);
        // Several segments of 4 KiB.
        let refused: u32 = (1..20).map(|number| append_patiently(&spool, number)).sum();
        if files.has_panicked() {
            panics += 1;
            assert!(refused > 0, "what was under way is refused, {after}");
        }
        assert_eq!(workers.find_dead(|name| name == WRITER), None, "it is back, {after}");
        let all: Vec<u64> = (0..20).collect();
        assert_eq!(drain(&mut consumer), all, "{after}");
        drop((consumer, spool));
        // As after a restart of the process. A refused event may be there, at most once.
        let again =
            Spool::open_on(Arc::new(files.after_process_crash()), options(Path::new("/spool")));
        let (spool, _) = again.unwrap();
        let mut found = drain(&mut spool.consumer("test").unwrap());
        found.dedup();
        assert_eq!(found, all, "{after}");
    }
    assert!(panics > 20, "the calls panicked: {panics}");
}
