//! The keys as a caller sees them, over restarts, jobs, damage and little memory.

use std::{collections::BTreeSet, fs, path::Path};

use proptest::prelude::*;

use super::*;

const MONTH: u32 = 202_611;

fn open(dir: &Path) -> LandedKeys {
    open_with(dir, 64 << 20)
}

/// Opens the folder for a table of so many rows.
fn open_for(dir: &Path, rows: usize) -> LandedKeys {
    let mut keys = open(dir);
    keys.begin(MONTH, rows as u64);
    keys
}

fn open_with(dir: &Path, memory_max_bytes: usize) -> LandedKeys {
    let lengths_file = dir.with_extension("lengths");
    LandedKeys::open(Options { dir: dir.to_owned(), lengths_file, memory_max_bytes }).unwrap()
}

/// Does what partitions need, with a table that holds these fingerprints.
fn work(keys: &mut LandedKeys, table: &BTreeSet<u64>) {
    while let Some(need) = keys.needs() {
        match need {
            Need::Fill(partition) => {
                let mut fill = keys.begin_fill(partition).unwrap();
                for fingerprint in table {
                    fill.push(*fingerprint).unwrap();
                }
                let filled = fill.finish().unwrap();
                keys.end_fill(partition, Some(filled)).unwrap();
            }
            Need::Load(partition) => {
                let loaded = keys.begin_load(partition).run();
                keys.end_load(partition, loaded).unwrap();
            }
        }
    }
}

/// A partition that is ready, and empty.
fn ready(dir: &Path) -> LandedKeys {
    let mut keys = open_for(dir, 0);
    work(&mut keys, &BTreeSet::new());
    keys
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()).collect()
}

#[test]
fn fingerprints_are_the_same_after_a_restart_and_others_in_another_folder() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fingerprint = |dir: &Path| open(dir).fingerprints().of(("a", 1));
    assert_eq!(fingerprint(one.path()), fingerprint(one.path()));
    assert_ne!(fingerprint(one.path()), fingerprint(other.path()));
    assert_ne!(
        open(one.path()).fingerprints().of(("a", 1)),
        open(one.path()).fingerprints().of(("a", 2))
    );
}

#[test]
fn a_partition_answers_maybe_until_it_was_filled_from_the_table() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = open_for(dir.path(), 0);
    assert_eq!(keys.offer(MONTH, 1), Seen::Maybe);
    assert_eq!(keys.needs(), Some(Need::Fill(MONTH)));
    keys.record(MONTH, 1);
    assert!(keys.sync().unwrap(), "nothing to wait for");
    let mut fill = keys.begin_fill(MONTH).unwrap();
    assert_eq!(keys.needs(), None, "one job at a time");
    // What lands while the table is read may be missed by the reading.
    keys.record(MONTH, 2);
    fill.push(3).unwrap();
    let filled = fill.finish().unwrap();
    keys.end_fill(MONTH, Some(filled)).unwrap();
    assert_eq!(keys.offer(MONTH, 4), Seen::Maybe, "its filter is not made yet");
    keys.record(MONTH, 4);
    let load = keys.begin_load(MONTH);
    keys.record(MONTH, 5);
    keys.end_load(MONTH, load.run()).unwrap();
    for (fingerprint, seen) in
        [(1, Seen::Maybe), (2, Seen::Maybe), (3, Seen::Maybe), (4, Seen::Maybe), (5, Seen::Maybe)]
    {
        assert_eq!(keys.offer(MONTH, fingerprint), seen, "{fingerprint}");
    }
    assert_eq!([keys.offer(MONTH, 6), keys.offer(MONTH, 6)], [Seen::New, Seen::Maybe]);
    assert_eq!(keys.offer(MONTH + 1, 6), Seen::Maybe, "another partition");
    assert!(keys.knows(MONTH) && !keys.knows(MONTH + 1));
}

#[test]
fn a_failed_or_forgotten_fill_is_needed_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = open_for(dir.path(), 0);
    keys.offer(MONTH, 1);
    let mut fill = keys.begin_fill(MONTH).unwrap();
    fill.push(9).unwrap();
    drop(fill);
    keys.end_fill(MONTH, None).unwrap();
    assert_eq!(keys.needs(), Some(Need::Fill(MONTH)));
    let fill = keys.begin_fill(MONTH).unwrap();
    drop((fill, keys));
    let mut keys = open_for(dir.path(), 0);
    keys.offer(MONTH, 1);
    assert_eq!(keys.needs(), Some(Need::Fill(MONTH)), "a process ended in the middle of it");
}

#[test]
fn synced_keys_are_known_after_a_restart_and_sync_waits_for_the_file_to_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = ready(dir.path());
    assert_eq!(keys.offer(MONTH, 1), Seen::New);
    assert!(keys.sync().unwrap());
    assert_eq!(keys.offer(MONTH, 2), Seen::New);
    drop(keys);
    let mut keys = open_for(dir.path(), 0);
    assert_eq!(keys.offer(MONTH, 3), Seen::Maybe);
    keys.record(MONTH, 3);
    assert!(!keys.sync().unwrap());
    work(&mut keys, &BTreeSet::from([1]));
    assert!(keys.sync().unwrap());
    assert_eq!(keys.offer(MONTH, 1), Seen::Maybe);
    assert_eq!(keys.offer(MONTH, 3), Seen::Maybe);
    assert_eq!(keys.offer(MONTH, 2), Seen::New, "it was not synced");
}

#[test]
fn a_file_that_is_damaged_anywhere_or_lacks_keys_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = ready(dir.path());
    let table = BTreeSet::from([11, 12, 13]);
    for fingerprint in &table {
        keys.offer(MONTH, *fingerprint);
        keys.sync().unwrap();
    }
    drop(keys);
    let path = jobs::path(dir.path(), MONTH);
    let whole = fs::read(&path).unwrap();
    let flipped = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    });
    let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
    for bytes in flipped.chain(cut) {
        fs::write(&path, &bytes).unwrap();
        let mut keys = open_for(dir.path(), table.len());
        assert_eq!(keys.offer(MONTH, 1), Seen::Maybe);
        keys.record(MONTH, 1);
        work(&mut keys, &table);
        for fingerprint in table.iter().chain([&1]) {
            assert_eq!(keys.offer(MONTH, *fingerprint), Seen::Maybe, "{bytes:?}");
        }
        assert_eq!(keys.offer(MONTH, 2), Seen::New);
    }
}

#[test]
fn a_file_restored_from_an_older_copy_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = jobs::path(dir.path(), MONTH);
    let mut keys = ready(dir.path());
    assert_eq!([1, 2].map(|key| keys.offer(MONTH, key)), [Seen::New; 2]);
    assert!(keys.sync().unwrap());
    let older = fs::read(&path).unwrap();
    assert_eq!(keys.offer(MONTH, 3), Seen::New);
    assert!(keys.sync().unwrap());
    drop(keys);
    fs::write(&path, older).unwrap();
    // Rows were deleted, so that their number says nothing.
    let mut keys = open_for(dir.path(), 1);
    work(&mut keys, &BTreeSet::from([3]));
    assert_eq!(keys.offer(MONTH, 3), Seen::Maybe);
    assert_eq!(keys.offer(MONTH, 2), Seen::New);
}

#[test]
fn without_the_hash_key_all_files_are_removed() {
    for damage in [None, Some(Vec::new()), Some(b"MLRHKEY1-and-something-else-here".to_vec())] {
        let dir = tempfile::tempdir().unwrap();
        drop(ready(dir.path()));
        assert_eq!(files(dir.path()).len(), 2);
        match damage {
            None => fs::remove_file(dir.path().join(KEY_FILE)).unwrap(),
            Some(bytes) => fs::write(dir.path().join(KEY_FILE), bytes).unwrap(),
        }
        let mut keys = open_for(dir.path(), 0);
        assert_eq!(files(dir.path()).len(), 1);
        keys.offer(MONTH, 1);
        assert_eq!(keys.needs(), Some(Need::Fill(MONTH)));
    }
}

#[test]
fn filters_stay_within_the_memory_and_none_is_made_in_vain() {
    let dir = tempfile::tempdir().unwrap();
    let mut keys = open_with(dir.path(), 600 << 10);
    (0..3).for_each(|partition| keys.begin(partition, 0));
    let mut recorded = Vec::new();
    for number in 0..1_500_000_u64 {
        let (partition, fingerprint) = ((number % 3) as u32, keys.fingerprints().of(number));
        if keys.offer(partition, fingerprint) == Seen::Maybe {
            keys.record(partition, fingerprint);
        }
        recorded.push((partition, fingerprint));
        if number % 10_000 == 0 {
            work(&mut keys, &BTreeSet::new());
            assert!(keys.sync().unwrap());
        }
        assert!(keys.figures().memory_bytes <= 600 << 10);
    }
    for (partition, fingerprint) in recorded.iter().step_by(101) {
        assert_eq!(keys.offer(*partition, *fingerprint), Seen::Maybe);
    }
    assert!(keys.figures().without_filter > 0);
}

#[test]
fn after_a_restart_the_filters_of_all_partitions_share_the_memory() {
    const ROWS: [(u32, u64); 2] = [(202_610, 900_000), (202_611, 300_000)];
    let dir = tempfile::tempdir().unwrap();
    let mut keys = open(dir.path());
    for (partition, rows) in ROWS {
        keys.begin(partition, 0);
        work(&mut keys, &BTreeSet::new());
        for number in 0..rows {
            let fingerprint = keys.fingerprints().of((partition, number));
            if keys.offer(partition, fingerprint) == Seen::Maybe {
                keys.record(partition, fingerprint);
            }
        }
        assert!(keys.sync().unwrap());
    }
    drop(keys);

    // Each of them could have room for half as many more, but not both.
    let memory = 5_000_000;
    let mut keys = open_with(dir.path(), memory);
    for (partition, rows) in ROWS {
        keys.begin(partition, rows);
    }
    work(&mut keys, &BTreeSet::new());
    assert_eq!(keys.figures().without_filter, 0);
    assert!(keys.figures().memory_bytes <= memory);
    for (partition, rows) in ROWS {
        let seen = |number: u64, keys: &mut LandedKeys| {
            keys.offer(partition, keys.fingerprints().of((partition, number)))
        };
        assert!((0..rows).step_by(97).all(|number| seen(number, &mut keys) == Seen::Maybe));
        let fresh = (rows..rows + 20_000).filter(|it| seen(*it, &mut keys) == Seen::New).count();
        assert!(fresh > 19_900, "{fresh}");
    }
}

#[test]
fn a_restored_file_is_made_anew_although_it_is_longer() {
    let dir = tempfile::tempdir().unwrap();
    let path = jobs::path(dir.path(), MONTH);
    // A fill that began before a row was stored, and read it all the same, has its key twice.
    let mut keys = open_for(dir.path(), 0);
    for fingerprint in [1, 2] {
        keys.offer(MONTH, fingerprint);
        keys.record(MONTH, fingerprint);
    }
    work(&mut keys, &BTreeSet::from([1, 2]));
    assert!(keys.sync().unwrap());
    let older = fs::read(&path).unwrap();
    drop(keys);
    fs::remove_file(&path).unwrap();
    let mut keys = open_for(dir.path(), 3);
    work(&mut keys, &BTreeSet::from([1, 2, 3]));
    assert!(keys.sync().unwrap());
    drop(keys);
    assert!(older.len() > fs::read(&path).unwrap().len());
    fs::write(&path, older).unwrap();
    let mut keys = open_for(dir.path(), 3);
    work(&mut keys, &BTreeSet::from([1, 2, 3]));
    assert_eq!(keys.offer(MONTH, 3), Seen::Maybe);
}

/// What happens to the keys in a random history.
#[derive(Debug, Clone)]
enum Step {
    /// A key is offered.
    Offer(u64),
    /// The keys that were offered and are not in the table are recorded, synced and stored.
    Land,
    /// The process ends: what was offered and not stored is offered again.
    Restart,
    /// The job that is needed begins: it reads the table as it is then.
    Begin,
    /// The job that was begun ends.
    End,
    /// The file is removed while no process runs.
    Lose,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0_u64..60).prop_map(Step::Offer),
        5 => Just(Step::Land),
        1 => Just(Step::Restart),
        3 => Just(Step::Begin),
        3 => Just(Step::End),
        1 => Just(Step::Lose),
    ]
}

/// A job that was begun.
enum Job {
    Fill(Fill),
    Load(Load),
}

/// A writer over a table, as the pipeline is one.
struct Writer {
    keys: LandedKeys,
    table: BTreeSet<u64>,
    /// Offered, with the answer, and not stored yet.
    offered: Vec<(u64, Seen)>,
    /// Stored before their keys were durable: the spool still holds them, and they are offered again after a restart.
    uncertain: Vec<u64>,
    job: Option<Job>,
}

impl Writer {
    fn offer(&mut self, fingerprint: u64) {
        let seen = self.keys.offer(MONTH, fingerprint);
        assert!(seen == Seen::Maybe || !self.table.contains(&fingerprint), "{fingerprint:x}");
        self.offered.push((fingerprint, seen));
    }

    fn land(&mut self) {
        for (fingerprint, seen) in std::mem::take(&mut self.offered) {
            if self.table.contains(&fingerprint) {
                continue;
            }
            if seen == Seen::Maybe {
                self.keys.record(MONTH, fingerprint);
            }
            self.table.insert(fingerprint);
            self.uncertain.push(fingerprint);
        }
        if self.keys.sync().unwrap() {
            self.uncertain.clear();
        }
    }

    /// Goes on with what the folder and the table hold.
    fn restart(&mut self, dir: &Path) {
        self.job = None;
        self.keys = open_for(dir, self.table.len());
        for fingerprint in &self.uncertain {
            if self.keys.offer(MONTH, *fingerprint) == Seen::Maybe {
                self.keys.record(MONTH, *fingerprint);
            }
        }
        for (fingerprint, _) in std::mem::take(&mut self.offered) {
            self.offer(fingerprint);
        }
    }

    fn begin(&mut self) {
        if self.job.is_some() {
            return;
        }
        self.job = self.keys.needs().map(|need| match need {
            Need::Fill(partition) => {
                let mut fill = self.keys.begin_fill(partition).unwrap();
                self.table.iter().for_each(|fingerprint| fill.push(*fingerprint).unwrap());
                Job::Fill(fill)
            }
            Need::Load(partition) => Job::Load(self.keys.begin_load(partition)),
        });
    }

    fn end(&mut self) {
        match self.job.take() {
            None => {}
            Some(Job::Fill(fill)) => {
                self.keys.end_fill(MONTH, Some(fill.finish().unwrap())).unwrap();
            }
            Some(Job::Load(load)) => self.keys.end_load(MONTH, load.run()).unwrap(),
        }
    }
}

proptest! {
    #[test]
    fn no_key_of_the_table_is_ever_new(steps in prop::collection::vec(step(), 0..200)) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer {
            keys: open_for(dir.path(), 0),
            table: BTreeSet::new(),
            offered: Vec::new(),
            uncertain: Vec::new(),
            job: None,
        };
        for step in steps {
            match step {
                Step::Offer(number) => writer.offer(writer.keys.fingerprints().of(number)),
                Step::Land => writer.land(),
                Step::Begin => writer.begin(),
                Step::End => writer.end(),
                Step::Restart | Step::Lose => {
                    if matches!(step, Step::Lose) {
                        let _ = fs::remove_file(jobs::path(dir.path(), MONTH));
                    }
                    writer.restart(dir.path());
                }
            }
        }
    }
}
