//! The window remembers first times, forgets the oldest, and never invents a repeat.

use std::collections::VecDeque;

use proptest::{collection::vec, prelude::*};

use super::*;

const WORKSPACE: Uuid = Uuid::from_u128(1);

#[test]
fn a_repeat_takes_the_time_of_the_first() {
    let window = Window::with_capacity(1024);
    let id = window.fingerprint(WORKSPACE, "a");
    assert_eq!(window.claim(id, 1000), Claim::First);
    assert_eq!(window.claim(id, 2000), Claim::Pending { first_ms: 1000 });
    window.confirm(&[id]);
    assert_eq!(window.claim(id, 3000), Claim::Durable { first_ms: 1000 });
}

#[test]
fn the_same_id_in_another_workspace_is_another_id() {
    let window = Window::with_capacity(1024);
    assert_eq!(window.claim(window.fingerprint(WORKSPACE, "a"), 1), Claim::First);
    assert_eq!(window.claim(window.fingerprint(Uuid::from_u128(2), "a"), 1), Claim::First);
}

#[test]
fn an_id_is_believed_for_seven_days_and_not_a_millisecond_longer() {
    let window = Window::with_capacity(1024);
    let id = window.fingerprint(WORKSPACE, "a");
    window.seed(WORKSPACE, "a", 500);
    let last = 500 + WINDOW_RETENTION_MS;
    assert_eq!(window.claim(id, last), Claim::Durable { first_ms: 500 });
    assert_eq!(window.claim(id, last + 1), Claim::First);
    assert_eq!(window.claim(id, last + 2), Claim::Pending { first_ms: last + 1 });
}

#[test]
fn seeding_keeps_the_first_time_and_makes_it_durable() {
    let window = Window::with_capacity(1024);
    window.seed(WORKSPACE, "a", 10);
    window.seed(WORKSPACE, "a", 20);
    let id = window.fingerprint(WORKSPACE, "a");
    assert_eq!(window.claim(id, 30), Claim::Durable { first_ms: 10 });
    assert_eq!(window.len(), 1);
}

#[test]
fn the_number_of_ids_is_bounded() {
    let window = Window::with_capacity(640);
    for id in 0..100_000 {
        window.seed(WORKSPACE, &id.to_string(), id);
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
                scope.spawn(move || window.claim(window.fingerprint(WORKSPACE, "a"), time))
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
                shard.insert(id, time, false);
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
