//! Groups a page of events by session.

use kernel::Timestamp;

/// The fields of an event that grouping needs.
pub trait Sessioned {
    /// Empty when the event has no session.
    fn session_id(&self) -> &str;
    fn timestamp(&self) -> Timestamp;
}

/// The events of one session that are on the page, in the page's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session<'page, E> {
    /// `None` for the group of events without a session.
    pub session_id: Option<&'page str>,
    /// Time of the earliest event of the session on this page.
    pub started_at: Timestamp,
    /// Time of the latest event of the session on this page.
    pub ended_at: Timestamp,
    /// Newest first, like the page.
    pub events: Vec<&'page E>,
}

impl<E> Session<'_, E> {
    /// Whole seconds from the earliest to the latest event on the page.
    pub fn duration_seconds(&self) -> i64 {
        (self.ended_at.millis() - self.started_at.millis()) / 1000
    }
}

/// Groups a page of events, newest first: the session with the newest event comes first, and the events without
/// a session come last. Only events on the page count, so the cost is bounded by the page size.
pub fn group_by_session<E: Sessioned>(page: &[E]) -> Vec<Session<'_, E>> {
    let mut sessions: Vec<Session<'_, E>> = Vec::new();
    for event in page {
        let id = Some(event.session_id()).filter(|id| !id.is_empty());
        let at = event.timestamp();
        if let Some(session) = sessions.iter_mut().find(|session| session.session_id == id) {
            session.started_at = session.started_at.min(at);
            session.ended_at = session.ended_at.max(at);
            session.events.push(event);
        } else {
            sessions.push(Session {
                session_id: id,
                started_at: at,
                ended_at: at,
                events: vec![event],
            });
        }
    }
    // A stable sort: sessions stay in the order of their newest event.
    sessions.sort_by_key(|session| session.session_id.is_none());
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq)]
    struct Event(&'static str, i64);

    impl Sessioned for Event {
        fn session_id(&self) -> &str {
            self.0
        }
        fn timestamp(&self) -> Timestamp {
            Timestamp::from_millis(self.1)
        }
    }

    #[test]
    fn sessions_come_newest_first_and_events_without_one_last() {
        let page = [Event("", 9_000), Event("b", 8_500), Event("a", 7_000), Event("b", 5_000)];
        let sessions = group_by_session(&page);
        let ids: Vec<_> = sessions.iter().map(|session| session.session_id).collect();
        assert_eq!(ids, [Some("b"), Some("a"), None]);
        assert_eq!(sessions[0].duration_seconds(), 3);
        assert_eq!(sessions[0].started_at, Timestamp::from_millis(5_000));
        assert_eq!(sessions[0].ended_at, Timestamp::from_millis(8_500));
        assert_eq!(sessions[0].events, [&page[1], &page[3]]);
        assert_eq!(sessions[2].events, [&page[0]]);
    }

    #[test]
    fn an_empty_page_has_no_sessions() {
        assert!(group_by_session::<Event>(&[]).is_empty());
    }
}
