//! The readers on a spool in memory: every call is applied, in order, and few wait for many.

use ingest::record::{ProfileBatchBuilder, ProfileCallKind};
use proptest::{prelude::*, sample::select};
use uuid::Uuid;

use super::*;

/// Work of a slice: its last call may join two ids.
const SLICE_WORK_MAX: u64 = WORK_MAX + 20;

/// A reader of a backlog.
#[derive(Debug)]
struct Reader {
    /// The next frame to be read.
    log: u64,
    next: u64,
    pending: Pending,
}

impl Reader {
    fn at(next: u64) -> Self {
        Self { log: next, next, pending: Pending::default() }
    }
}

/// The spool, its readers, and what PostgreSQL has.
#[derive(Debug, Default)]
struct Simulation {
    spool: Vec<Batch>,
    first: u64,
    deferral: Deferral<Reader>,
    /// The calls of each workspace that were recorded.
    recorded: HashMap<WorkspaceId, u64>,
    /// The calls of each workspace that were applied, in that order.
    applied: HashMap<WorkspaceId, Vec<u64>>,
}

fn workspace(number: u8) -> WorkspaceId {
    WorkspaceId::new(Uuid::from_u128(u128::from(number) + 1))
}

fn batch(workspace: WorkspaceId, numbers: std::ops::Range<u64>) -> Batch {
    let mut builder = ProfileBatchBuilder::default();
    for number in numbers {
        let id = number.to_string();
        builder.push(&ProfileCall { user_id: &id, call_id: &id, ..ProfileCall::default() });
    }
    builder.finish(workspace.uuid(), 0, 1).unwrap()
}

impl Simulation {
    fn append(&mut self, workspace: WorkspaceId, calls: u64) {
        let recorded = self.recorded.entry(workspace).or_default();
        self.spool.push(batch(workspace, *recorded..*recorded + calls));
        *recorded += calls;
    }

    /// Applies calls as PostgreSQL does: each once. Gives how many were given of each workspace.
    fn apply(
        applied: &mut HashMap<WorkspaceId, Vec<u64>>,
        calls: Vec<WorkspaceCalls<'_>>,
    ) -> Vec<u64> {
        let mut given = Vec::new();
        for WorkspaceCalls { workspace, calls } in calls {
            let applied = applied.entry(workspace).or_default();
            given.push(calls.len() as u64);
            for call in calls {
                let number: u64 = call.call_id.parse().unwrap();
                if number >= applied.len() as u64 {
                    assert_eq!(number, applied.len() as u64, "a call overtakes another");
                    applied.push(number);
                }
            }
        }
        given
    }

    /// A batch of the first reader of at most so many frames. It may be interrupted after it was applied.
    fn first_turn(&mut self, frames_max: u64, is_interrupted: bool) {
        let mut batch = FirstBatch::at(self.first);
        let end = (self.first + frames_max).min(self.spool.len() as u64);
        for position in self.first..end {
            let calls = self.spool[usize::try_from(position).unwrap()].clone();
            let workspace = WorkspaceId::new(calls.header().workspace_id);
            if self.deferral.leaves_out(workspace, position + 1) {
                continue;
            }
            let has_room = u64::from(calls.header().count) <= WORK_MAX && batch.add(calls);
            if !has_room {
                let left_out = batch.leave_out(workspace, position + 1);
                self.deferral.defer(workspace, left_out, || Reader::at(self.first));
            }
        }
        let given = Self::apply(&mut self.applied, batch.calls());
        assert!(given.iter().all(|calls| *calls <= WORK_MAX), "{given:?}");
        if !is_interrupted {
            self.first = end;
        }
    }

    /// A slice of each backlog. It may be interrupted after it was applied.
    fn backlog_turns(&mut self, frames_max: usize, is_interrupted: bool) {
        let first = self.first;
        for backlog in self.deferral.backlogs() {
            let (end, mut frames) = (backlog.end(first), 0);
            let is_read = !backlog.reader.pending.is_empty();
            while !is_read && backlog.reader.log < end && frames < frames_max {
                let position = backlog.reader.log;
                let calls = &self.spool[usize::try_from(position).unwrap()];
                if backlog.applies(WorkspaceId::new(calls.header().workspace_id), position) {
                    backlog.reader.pending.add(calls.clone());
                }
                backlog.reader.log += 1;
                frames += 1;
                if backlog.reader.pending.is_full() {
                    break;
                }
            }
            let Slice { calls, end } = backlog.reader.pending.slice();
            let given = Self::apply(&mut self.applied, calls);
            assert!(given.iter().sum::<u64>() <= SLICE_WORK_MAX, "{given:?}");
            if is_interrupted {
                backlog.reader = Reader::at(backlog.reader.next);
                continue;
            }
            backlog.reader.pending.advance(end);
            if backlog.reader.pending.is_empty() {
                backlog.reader.next = backlog.reader.log;
                backlog.reach(backlog.reader.next);
            }
        }
        self.deferral.remove_done();
    }

    /// Where the cursor on disk may be.
    fn durable(&mut self) -> u64 {
        let first = self.first;
        let backlogs = self.deferral.backlogs().iter().map(|backlog| backlog.reader.next);
        backlogs.chain([first]).min().unwrap()
    }

    fn restart(&mut self) {
        self.first = self.durable();
        self.deferral = Deferral::default();
    }

    /// Checks what others are shown against what was applied.
    fn check(&mut self) {
        let shown = self.deferral.applied(self.first);
        let durable = self.durable();
        let mut calls: HashMap<WorkspaceId, u64> = HashMap::new();
        for (position, batch) in (0_u64..).zip(&self.spool) {
            let workspace = WorkspaceId::new(batch.header().workspace_id);
            let calls = calls.entry(workspace).or_default();
            *calls += u64::from(batch.header().count);
            let before = shown.deferred.get(&workspace.uuid()).copied().unwrap_or(shown.before);
            let applied = self.applied.get(&workspace).map_or(0, Vec::len) as u64;
            assert!(position >= before || applied >= *calls, "shown as applied");
            assert!(position >= durable || applied >= *calls, "passed by the cursor");
        }
        assert!(self.deferral.backlogs().len() <= BACKLOGS_MAX);
    }

    fn work_off(&mut self) {
        while self.first < self.spool.len() as u64 || !self.deferral.is_empty() {
            self.first_turn(100, false);
            self.backlog_turns(100, false);
            self.check();
        }
        for (workspace, recorded) in &self.recorded {
            let applied = self.applied.get(workspace).map_or(0, Vec::len) as u64;
            assert_eq!(applied, *recorded);
        }
        assert_eq!(self.durable(), self.spool.len() as u64);
    }
}

#[test]
fn a_workspace_is_deferred_from_the_batch_with_more_than_its_share_until_its_calls_are_applied() {
    let [many, few] = [0, 1].map(workspace);
    // The frames of calls of one workspace, and how many of them are applied by the first reader.
    for (frames, applied) in [
        (&[WORK_MAX][..], WORK_MAX),
        (&[WORK_MAX + 1], 0),
        (&[WORK_MAX, 1], 0),
        (&[1, WORK_MAX - 1], WORK_MAX),
        (&[1, WORK_MAX], 0),
        (&[20_000, 20_000], 0),
    ] {
        let mut simulation = Simulation::default();
        for calls in frames {
            simulation.append(many, *calls);
        }
        simulation.append(few, 1);
        simulation.first_turn(u64::MAX >> 1, false);
        let done = |simulation: &Simulation, workspace| {
            simulation.applied.get(&workspace).map_or(0, Vec::len) as u64
        };
        assert_eq!((done(&simulation, many), done(&simulation, few)), (applied, 1), "{frames:?}");
        assert_eq!(simulation.deferral.is_empty(), applied > 0);
        let shown = simulation.deferral.applied(simulation.first);
        assert_eq!(shown.before, frames.len() as u64 + 1);
        assert_eq!(
            shown.deferred,
            (applied == 0).then_some((many.uuid(), 0)).into_iter().collect()
        );
        let all: u64 = frames.iter().sum();
        let slices = (all - applied).div_ceil(WORK_MAX);
        for _ in 0..slices {
            assert!(done(&simulation, many) < all);
            simulation.append(few, 1);
            simulation.first_turn(1, false);
            simulation.backlog_turns(usize::MAX, false);
        }
        assert_eq!((done(&simulation, many), done(&simulation, few)), (all, 1 + slices));
        assert!(simulation.deferral.is_empty(), "{frames:?}");
        simulation.append(many, 1);
        simulation.first_turn(1, false);
        assert_eq!(done(&simulation, many), all + 1, "it is read with others again");
        simulation.check();
    }
}

#[test]
fn calls_with_much_work_are_few_in_a_slice_and_the_fewest_calls_of_a_batch_are_first() {
    let mut builder = ProfileBatchBuilder::default();
    let alias = ProfileCall { kind: ProfileCallKind::Alias, ..ProfileCall::default() };
    (0..60).for_each(|_| builder.push(&alias));
    let aliases = builder.finish(workspace(0).uuid(), 0, 1).unwrap();
    let mut first = FirstBatch::at(0);
    assert!(!first.add(aliases.clone()), "each is a transaction");
    assert_eq!(first.leave_out(workspace(0), 1), LeftOut { from: 0, end: 1 });
    assert_eq!(first.bytes(), 0);
    let mut pending = Pending::default();
    pending.add(aliases);
    let slice = pending.slice();
    assert_eq!(slice.calls[0].calls.len(), 48);
    let end = slice.end;
    pending.advance(end);
    let slice = pending.slice();
    assert_eq!(slice.calls[0].calls.len(), 12);
    let end = slice.end;
    pending.advance(end);
    assert!(pending.is_empty() && pending.slice().calls.is_empty());

    for (number, calls) in [(0, 0..30), (1, 0..2), (2, 0..10)] {
        assert!(first.add(batch(workspace(number), calls)));
    }
    let order: Vec<WorkspaceId> = first.calls().iter().map(|of| of.workspace).collect();
    assert_eq!(order, [1, 2, 0].map(workspace));
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Append(u8, u64),
    First(u64, bool),
    Backlogs(usize, bool),
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    let calls = select(vec![1, 3, 400, WORK_MAX, WORK_MAX + 1, 2_500]);
    prop_oneof![
        8 => (0_u8..7, calls).prop_map(|(workspace, calls)| Action::Append(workspace, calls)),
        4 => (1_u64..6, prop::bool::weighted(0.2)).prop_map(|(most, is)| Action::First(most, is)),
        4 => (1_usize..6, prop::bool::weighted(0.2)).prop_map(|(most, is)| Action::Backlogs(most, is)),
        1 => Just(Action::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_call_is_applied_in_order_whatever_is_interrupted(
        actions in prop::collection::vec(action(), 1..60),
    ) {
        let mut simulation = Simulation::default();
        for action in actions {
            match action {
                Action::Append(number, calls) => simulation.append(workspace(number), calls),
                Action::First(frames, is_interrupted) => simulation.first_turn(frames, is_interrupted),
                Action::Backlogs(frames, is_interrupted) => {
                    simulation.backlog_turns(frames, is_interrupted);
                }
                Action::Restart => simulation.restart(),
            }
            simulation.check();
        }
        simulation.work_off();
    }
}
