//! The window remembers first times, forgets the oldest, and never invents a repeat.

use std::collections::VecDeque;

use proptest::{collection::vec, prelude::*};

use super::*;

const WORKSPACE: Uuid = Uuid::from_u128(1);

/// An id of an event named `A`.
fn key(event_id: &str) -> EventKey<'_> {
    EventKey { workspace_id: WORKSPACE, event_name: "A", event_id }
}

#[test]
fn a_repeat_takes_the_time_of_the_first() {
    let window = Window::with_capacity(1024);
    let id = window.fingerprint(key("a"));
    assert_eq!(window.claim(id, 1000), Claim::First);
    assert_eq!(window.claim(id, 2000), Claim::Pending { first_ms: 1000 });
    window.confirm(&[id]);
    assert_eq!(window.claim(id, 3000), Claim::Durable { first_ms: 1000 });
}

#[test]
fn the_same_id_in_another_workspace_is_another_id() {
    let window = Window::with_capacity(1024);
    assert_eq!(window.claim(window.fingerprint(key("a")), 1), Claim::First);
    assert_eq!(
        window.claim(
            window.fingerprint(EventKey { workspace_id: Uuid::from_u128(2), ..key("a") }),
            1
        ),
        Claim::First
    );
}

#[test]
fn the_same_id_of_an_event_of_another_name_is_another_id() {
    let window = Window::with_capacity(1024);
    assert_eq!(window.claim(window.fingerprint(key("a")), 1), Claim::First);
    let other = EventKey { event_name: "B", ..key("a") };
    assert_eq!(window.claim(window.fingerprint(other), 1), Claim::First);
    // Where a name ends and an id begins is part of it.
    let moved = EventKey { event_name: "Aa", event_id: "", ..key("a") };
    assert_eq!(window.claim(window.fingerprint(moved), 1), Claim::First);
}

#[test]
fn ids_made_to_collide_are_different_ids() {
    let (window, other) = (Window::with_capacity(1024), Window::with_capacity(1024));
    // Both have the same cityHash64, found in milliseconds.
    let ids = [":Ma.s/]>5VRobjnM", "order-2026-00001"].map(|id| window.fingerprint(key(id)));
    for id in ids {
        assert_eq!(window.claim(id, 1), Claim::First);
    }
    window.confirm(&ids[..1]);
    assert_eq!(window.claim(ids[0], 2), Claim::Durable { first_ms: 1 });
    assert_eq!(window.claim(ids[1], 2), Claim::Pending { first_ms: 1 }, "to be stored");
    // What is found out about one window says nothing of another.
    assert_ne!(window.fingerprint(key("a")), other.fingerprint(key("a")));
    let [first, second] = ids[0].hash;
    assert_ne!(first, second);
}

#[test]
fn both_halves_of_a_fingerprint_must_match() {
    let window = Window::with_capacity(1024);
    let id = window.fingerprint(key("a"));
    assert_eq!(window.claim(id, 1), Claim::First);
    window.confirm(&[id]);
    let [first, second] = id.hash;
    for hash in [[first, second ^ 1], [first ^ (1 << 63), second]] {
        assert_eq!(window.claim(Fingerprint { hash, ..id }, 2), Claim::First, "{hash:?}");
    }
}

#[test]
fn many_ids_of_one_workspace_leave_those_of_others() {
    const SHARE: usize = 50;
    let mut shard = Shard::with_capacity(4 * SHARE);
    let of = |workspace: u64, id: usize| [workspace, id as u64];
    let workspace = |number: u64| Uuid::from_u128(u128::from(number));
    for quiet in 1..=3 {
        for id in 0..SHARE {
            shard.insert(workspace(quiet), of(quiet, id), 1, true);
        }
    }
    for id in 0..10_000 {
        shard.insert(workspace(9), of(9, id), 2, true);
    }
    for quiet in 1..=3 {
        for id in 0..SHARE {
            assert!(shard.find(of(quiet, id)).is_some(), "{id} of {quiet}");
        }
    }
    // The loud one keeps its newest.
    for id in 0..10_000 {
        assert_eq!(shard.find(of(9, id)).is_some(), id >= 10_000 - SHARE, "{id}");
    }
}

#[test]
fn unused_shares_can_be_borrowed_and_are_returned() {
    let mut shard = Shard::with_capacity(100);
    let (loud, quiet) = (Uuid::from_u128(1), Uuid::from_u128(2));
    for id in 0..100 {
        shard.insert(loud, [1, id], 1, true);
    }
    assert!((0..100).all(|id| shard.find([1, id]).is_some()), "all of it");
    for id in 0..70 {
        shard.insert(quiet, [2, id], 2, true);
    }
    assert_eq!(shard.len(), 100);
    // Half of it each, the newest ones.
    assert!((0..50).all(|id| shard.find([1, id]).is_none()));
    assert!((50..100).all(|id| shard.find([1, id]).is_some()));
    assert!((0..20).all(|id| shard.find([2, id]).is_none()));
    assert!((20..70).all(|id| shard.find([2, id]).is_some()));
}

#[test]
fn more_workspaces_than_entries_do_no_harm() {
    let mut shard = Shard::with_capacity(4);
    for number in 0..1_000 {
        shard.insert(Uuid::from_u128(u128::from(number)), [0, number], 1, true);
        assert!(shard.find([0, number]).is_some());
        assert!(shard.len() <= 4);
    }
}

#[test]
fn an_id_is_remembered_for_exactly_seven_days() {
    let window = Window::with_capacity(1024);
    let id = window.fingerprint(key("a"));
    window.seed(key("a"), 500);
    let last = 500 + WINDOW_RETENTION_MS;
    assert_eq!(window.claim(id, last), Claim::Durable { first_ms: 500 });
    assert_eq!(window.claim(id, last + 1), Claim::First);
    assert_eq!(window.claim(id, last + 2), Claim::Pending { first_ms: last + 1 });
}

#[test]
fn seeding_keeps_the_first_time_and_makes_it_durable() {
    let window = Window::with_capacity(1024);
    window.seed(key("a"), 10);
    window.seed(key("a"), 20);
    let id = window.fingerprint(key("a"));
    assert_eq!(window.claim(id, 30), Claim::Durable { first_ms: 10 });
    assert_eq!(window.len(), 1);
}

#[test]
fn the_number_of_ids_is_bounded() {
    let window = Window::with_capacity(640);
    for id in 0..100_000 {
        window.seed(key(&id.to_string()), id);
    }
    assert_eq!(window.len(), 640);
}

#[test]
fn concurrent_claims_of_one_id_have_one_first() {
    let window = Window::with_capacity(1024);
    let firsts: usize = std::thread::scope(|scope| {
        let claims: Vec<_> = (0..8)
            .map(|time| {
                let window = &window;
                scope.spawn(move || window.claim(window.fingerprint(key("a")), time))
            })
            .collect();
        claims.into_iter().map(|claim| usize::from(claim.join().unwrap() == Claim::First)).sum()
    });
    assert_eq!(firsts, 1);
}

proptest! {
    /// A shard is a first-in, first-out set, whatever collides in its index.
    #[test]
    fn a_shard_behaves_as_a_queue_of_ids(
        capacity in 1_usize..12,
        ids in vec((0_u64..4, 0_u64..8), 1..200),
    ) {
        let mut shard = Shard::with_capacity(capacity);
        let mut model: VecDeque<([u64; 2], i64)> = VecDeque::new();
        for (time, (high, low)) in (0..).zip(ids) {
            let id = [high, low];
            let known = model.iter().find(|(other, _)| *other == id).map(|(_, first)| *first);
            prop_assert_eq!(shard.find(id).map(|entry| entry.first_ms()), known);
            if known.is_none() {
                shard.insert(WORKSPACE, id, time, false);
                model.push_back((id, time));
                if model.len() > capacity {
                    model.pop_front();
                }
            }
            prop_assert_eq!(shard.len(), model.len());
            for (id, first) in &model {
                prop_assert_eq!(shard.find(*id).map(|entry| entry.first_ms()), Some(*first));
            }
        }
    }
}
