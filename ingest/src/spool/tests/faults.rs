//! Every file operation failed once; failing syncs; a full disk; power cuts at random moments.

use std::{io::ErrorKind, path::Path, sync::Arc, time::Duration};

use proptest::prelude::*;

use super::{
    BEGAN_MS, PATIENCE, drain, entry,
    fake::{FakeFiles, Fault, Random},
    number, options,
};
use crate::spool::{AppendError, Consumer, Mark, Spool, SpoolError};

fn open(files: &FakeFiles) -> Result<Spool, SpoolError> {
    Spool::open_on(Arc::new(files.clone()), options(Path::new("/spool"))).map(|(spool, _)| spool)
}

/// What the test knows about a spool: what was acknowledged, and how far the consumer committed.
#[derive(Debug, Default)]
struct Model {
    next: u64,
    acknowledged: Vec<u64>,
    /// Entries up to and with this one were committed for certain.
    committed: Option<u64>,
    /// Commits after that which failed: one of them counts, or none does.
    in_doubt: Vec<u64>,
}

impl Model {
    fn append(&mut self, spool: &Spool, bytes: usize) -> Result<(), AppendError> {
        let number = self.next;
        self.next += 1;
        spool.append_blocking(entry(number, bytes))?;
        self.acknowledged.push(number);
        Ok(())
    }

    /// Delivers up to `count` entries and commits them.
    fn consume(&mut self, consumer: &mut Consumer, count: usize) {
        let mut last = None;
        for _ in 0..count {
            match consumer.receive(Duration::ZERO) {
                Ok(Some(frame)) => last = Some(frame),
                _ => break,
            }
        }
        let Some(frame) = last else { return };
        match consumer.cursor().commit(frame.end()) {
            Ok(()) => (self.committed, self.in_doubt) = (Some(number(&frame)), Vec::new()),
            Err(_) => self.in_doubt.push(number(&frame)),
        }
    }

    /// Takes note of the commit that a fresh start found.
    fn settle(&mut self, found: Mark) {
        let found = found.at_ms.checked_sub(BEGAN_MS);
        let is_known =
            found == self.committed || found.is_some_and(|it| self.in_doubt.contains(&it));
        assert!(is_known, "{found:?} is neither {:?} nor of {:?}", self.committed, self.in_doubt);
        (self.committed, self.in_doubt) = (found, Vec::new());
    }

    /// What a fresh start delivers must hold all that was acknowledged and not committed, in order
    /// and once; beyond that only entries that were refused with an error.
    fn check(&mut self, consumer: &mut Consumer) {
        self.settle(consumer.cursor().committed());
        let delivered = drain(consumer);
        assert!(delivered.is_sorted_by(|a, b| a < b), "in order and once: {delivered:?}");
        for number in &self.acknowledged {
            if self.committed.is_none_or(|committed| *number > committed) {
                assert!(delivered.contains(number), "{number} was acknowledged and is lost");
            }
        }
        if let (Some(committed), Some(first)) = (self.committed, delivered.first()) {
            assert!(*first > committed, "{first} was committed and comes again");
        }
        assert!(delivered.iter().all(|number| *number < self.next), "out of nowhere");
    }
}

/// A life of a spool in which most things happen: rotation, recycling, two commits.
fn live(files: &FakeFiles, model: &mut Model) {
    let Ok(spool) = open(files) else { return };
    let Ok(mut consumer) = spool.consumer("clickhouse") else { return };
    for round in 0..3 {
        for _ in 0..12 {
            model.append(&spool, 300).ok();
        }
        model.consume(&mut consumer, 8 + round);
    }
}

#[test]
fn any_one_file_operation_may_fail_and_nothing_acknowledged_is_lost() {
    // Goal: fail the first call, then the second, and so on until a whole life needs no more calls;
    // after each, cut the power and look.
    let mut random = Random::new(7);
    for after in 0.. {
        let files = FakeFiles::default();
        let mut model = Model::default();
        let kind = if after % 2 == 0 { ErrorKind::StorageFull } else { ErrorKind::Other };
        files.fail(Fault { after, times: 1, kind, only_sync: false });
        live(&files, &mut model);
        let struck = files.has_failed();
        let files = files.after_power_cut(&mut random);
        let spool = open(&files).unwrap();
        let mut consumer = spool.consumer("clickhouse").unwrap();
        model.check(&mut consumer);
        // It works again, too.
        model.append(&spool, 300).unwrap();
        assert_eq!(drain(&mut consumer), [model.next - 1]);
        if !struck {
            assert!(after > 100, "a life takes more than {after} calls");
            return;
        }
    }
}

#[test]
fn one_failed_sync_moves_the_group_to_a_new_segment_and_two_refuse_it() {
    let files = FakeFiles::default();
    let spool = open(&files).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut model = Model::default();
    model.append(&spool, 100).unwrap();
    files.fail(Fault { after: 0, times: 1, kind: ErrorKind::Other, only_sync: true });
    model.append(&spool, 100).unwrap();
    // The first sync fails; of the new segment the next three succeed (space, header, name).
    files.fail(Fault { after: 0, times: 1, kind: ErrorKind::Other, only_sync: true });
    model.append(&spool, 100).unwrap();
    files.fail(Fault { after: 0, times: 100, kind: ErrorKind::Other, only_sync: true });
    let refused = model.append(&spool, 100).unwrap_err();
    assert!(matches!(refused, AppendError::Io(_)), "{refused}");
    files.heal();
    model.append(&spool, 100).unwrap();
    assert_eq!(drain(&mut consumer), [0, 1, 2, 4], "the refused one is not seen");

    let files = files.after_power_cut(&mut Random::new(3));
    let spool = open(&files).unwrap();
    let delivered = drain(&mut spool.consumer("clickhouse").unwrap());
    assert_eq!(delivered, [0, 1, 2, 4], "nor after a power cut: its position was given out again");
}

#[test]
fn a_full_disk_refuses_appends_and_is_survived() {
    let files = FakeFiles::default();
    files.limit_capacity(Some(3 * 4096));
    let spool = open(&files).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut model = Model::default();
    let refused = loop {
        if let Err(error) = model.append(&spool, 500) {
            break error;
        }
    };
    assert!(matches!(refused, AppendError::Full { .. }), "{refused}");
    let delivered = drain(&mut consumer);
    assert_eq!(delivered, model.acknowledged);
    drop((spool, consumer));
    // A start on the full disk works, delivers, and frees.
    let spool = open(&files).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    model.consume(&mut consumer, 10);
    files.limit_capacity(None);
    model.append(&spool, 500).unwrap();
    model.check(&mut consumer);
}

#[test]
fn positions_of_lost_frames_a_consumer_has_passed_are_not_reused() {
    // With durability `os` a power cut can take frames whose delivery was committed.
    let files = FakeFiles::default();
    let spool = open(&files).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    let mut model = Model::default();
    for _ in 0..5 {
        model.append(&spool, 100).unwrap();
    }
    let frame = (0..5).map(|_| consumer.receive(PATIENCE).unwrap().unwrap()).last().unwrap();
    consumer.cursor().commit(frame.end()).unwrap();
    drop((spool, consumer));
    let name = "00000000000000000000.seg";
    let mut content = files.content(name);
    content[64 + 2 * 148..].fill(0);
    files.set_content(name, content);
    let spool = open(&files).unwrap();
    let mut consumer = spool.consumer("clickhouse").unwrap();
    assert_eq!(spool.append_blocking(entry(5, 100)).unwrap().get(), 5);
    assert_eq!(drain(&mut consumer), [5]);
}

#[derive(Debug, Clone)]
enum Step {
    Append {
        count: usize,
        bytes: usize,
    },
    /// Several appends queued together: one group.
    AppendTogether {
        count: usize,
        bytes: usize,
    },
    Consume {
        count: usize,
    },
    /// The process is gone; what the kernel had stays.
    Crash,
    /// The power is gone; what was not synced may stay, in parts.
    PowerCut {
        seed: u64,
    },
    /// The next calls fail.
    Fail {
        after: usize,
        times: usize,
    },
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![8_usize..64, 100_usize..700, Just(3984)];
    let step = prop_oneof![
        4 => (1_usize..20, bytes.clone()).prop_map(|(count, bytes)| Step::Append { count, bytes }),
        4 => (2_usize..20, bytes).prop_map(|(count, bytes)| Step::AppendTogether { count, bytes }),
        4 => (1_usize..60).prop_map(|count| Step::Consume { count }),
        1 => Just(Step::Crash),
        2 => any::<u64>().prop_map(|seed| Step::PowerCut { seed }),
        1 => (0_usize..20, 1_usize..4).prop_map(|(after, times)| Step::Fail { after, times }),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 1..25)
}

/// A spool under test, reopened as the steps say.
struct World {
    files: FakeFiles,
    model: Model,
    running: Option<(Spool, Consumer)>,
}

impl World {
    /// A fresh one. The consumer is registered before anything is written: it is owed everything.
    fn begin() -> Self {
        let files = FakeFiles::default();
        let mut world = Self { files, model: Model::default(), running: None };
        world.running();
        world
    }

    fn running(&mut self) -> (&mut Consumer, &Spool, &mut Model) {
        if self.running.is_none() {
            self.files.heal();
            let spool = open(&self.files).unwrap();
            let consumer = spool.consumer("clickhouse").unwrap();
            self.running = Some((spool, consumer));
        }
        let (spool, consumer) = self.running.as_mut().unwrap();
        (consumer, spool, &mut self.model)
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Append { count, bytes } => {
                let (_, spool, model) = self.running();
                for _ in 0..count {
                    model.append(spool, bytes).ok();
                }
            }
            Step::AppendTogether { count, bytes } => self.append_together(count, bytes),
            Step::Consume { count } => {
                let (consumer, _, model) = self.running();
                model.consume(consumer, count);
            }
            Step::Fail { after, times } => {
                let kind = ErrorKind::Other;
                self.files.fail(Fault { after, times, kind, only_sync: false });
            }
            Step::Close => self.running = None,
            Step::Crash => {
                let files = self.files.after_process_crash();
                self.restart(files);
            }
            Step::PowerCut { seed } => {
                let files = self.files.after_power_cut(&mut Random::new(seed));
                self.restart(files);
            }
        }
    }

    fn append_together(&mut self, count: usize, bytes: usize) {
        let (_, spool, model) = self.running();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let first = model.next;
        model.next += count as u64;
        let numbers = first..first + count as u64;
        let answers: Vec<_> = numbers.map(|it| (it, spool.append(entry(it, bytes)))).collect();
        for (number, answer) in answers {
            if runtime.block_on(answer).is_ok() {
                model.acknowledged.push(number);
            }
        }
    }

    fn restart(&mut self, files: FakeFiles) {
        self.running = None;
        self.files = files;
        // Look, and leave everything as it is for the next step.
        let spool = open(&self.files.after_process_crash()).unwrap();
        let mut consumer = spool.consumer("clickhouse").unwrap();
        self.model.check(&mut consumer);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_appends_commits_faults_and_crashes_loses_or_doubles_anything(steps in steps()) {
        let mut world = World::begin();
        for step in &steps {
            world.step(step);
        }
        let files = world.files.after_process_crash();
        world.restart(files);
    }
}

#[test]
fn nothing_is_written_before_a_segment_that_the_next_start_may_find() {
    // Goal: each call that opens a segment fails once. What still fits the one before it is acknowledged, or
    // refused, and is there after a crash, even where the new one got its name before the failure.
    for (after, seed) in (0..12).flat_map(|after| (0..9).map(move |seed| (after, seed))) {
        let mut world = World::begin();
        // Of these five fit, and 292 bytes are left.
        world.step(&Step::Append { count: 5, bytes: 700 });
        let end = if seed == 0 { Step::Crash } else { Step::PowerCut { seed } };
        for step in [
            Step::Fail { after, times: 1 },
            Step::Append { count: 1, bytes: 700 },
            Step::Append { count: 1, bytes: 100 },
            Step::Append { count: 2, bytes: 700 },
            end,
        ] {
            world.step(&step);
        }
    }
}

#[test]
fn a_file_whose_sync_failed_in_an_earlier_run_is_not_used_again() {
    for (after, seed) in (0..24).flat_map(|after| (1..9).map(move |seed| (after, seed))) {
        let mut world = World::begin();
        for step in [
            Step::Fail { after, times: 1 },
            Step::Append { count: 3, bytes: 8 },
            Step::Crash,
            Step::Consume { count: 2 },
            // The consumer is past the first segment: its file is free.
            Step::Append { count: 1, bytes: 100 },
            Step::PowerCut { seed },
        ] {
            world.step(&step);
        }
    }
}
