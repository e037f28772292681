//! Reads the segments of the spool from a place on.

use std::{io, sync::Arc};

use bytes::Bytes;

use super::{
    frame::{Frame, FrameHeader, Mark, Position},
    scan::{Found, Scan},
    segment::live_path,
    state::{Segment, Shared},
};

/// Reads the frames of segments in order, up to the end of what is durable. It keeps no segment: the cursor of its owner does.
#[derive(Debug)]
pub struct LogReader {
    shared: Arc<Shared>,
    /// Where the next frame to deliver is.
    next: Mark,
    scan: Option<Scan>,
}

impl LogReader {
    pub(super) fn at(shared: Arc<Shared>, next: Mark) -> Self {
        Self { shared, next, scan: None }
    }

    /// Where the next frame to be delivered is.
    pub fn next(&self) -> Mark {
        self.next
    }

    /// Goes on at this mark instead.
    pub(super) fn go_on_at(&mut self, mark: Mark) {
        self.next = mark;
        self.scan = None;
    }

    /// Closes its segment until it reads again.
    pub(super) fn let_go(&mut self) {
        self.scan = None;
    }

    /// The next frame, `None` when the head is reached. Blocks.
    ///
    /// # Errors
    /// When a segment cannot be read; the same call may be tried again.
    pub fn read(&mut self) -> io::Result<Option<Frame>> {
        loop {
            let next = self.next.position.0;
            let (segment, end) = {
                let state = self.shared.state.lock();
                if next >= state.head.position.0 {
                    return Ok(None);
                }
                match state.segment_of(next) {
                    Some(found) => found,
                    // Only when files were taken away by hand: go on with what there is.
                    None => match state.segments.front() {
                        Some(first) => {
                            let base = first.base;
                            drop(state);
                            self.lost(next, base);
                            continue;
                        }
                        None => return Ok(None),
                    },
                }
            };
            self.open_segment(&segment)?;
            let scan = self.scan.as_mut().expect("just opened");
            match scan.next(segment.bytes)? {
                Found::Frame { header, .. } if header.position < next => {}
                Found::Frame { header, payload } if header.position < end => {
                    let offset = scan.offset();
                    self.gap(next, &header);
                    return Ok(Some(self.frame(header, payload, offset)));
                }
                // Frames from `end` on were abandoned and written again in the next segment.
                Found::Frame { .. } | Found::End { .. } => self.lost(next, end),
            }
        }
    }

    fn open_segment(&mut self, segment: &Segment) -> io::Result<()> {
        if self.scan.as_ref().is_some_and(|scan| scan.segment() == segment.id) {
            return Ok(());
        }
        let file = self.shared.files.open(&live_path(&self.shared.options.dir, segment.id))?;
        let offset = if self.next.segment == segment.id { self.next.offset } else { 0 };
        self.scan = Some(Scan::new(file, segment.id, self.shared.seed, offset));
        Ok(())
    }

    fn frame(&mut self, header: FrameHeader, payload: Bytes, offset: u64) -> Frame {
        self.next = Mark {
            position: Position(header.position + 1),
            events: header.first_event + u64::from(header.events),
            at_ms: header.at_ms,
            segment: header.segment,
            offset,
        };
        Frame {
            position: Position(header.position),
            at_ms: header.at_ms,
            events: header.events,
            payload,
            end: self.next,
        }
    }

    /// Logs the loss when frames before `header` are missing. Those of its own group were never durable,
    /// so they were never acknowledged; those before its group were.
    fn gap(&mut self, next: u64, header: &FrameHeader) {
        let durable_end = header.group_first().max(next);
        if durable_end > next {
            self.report_lost(next, durable_end);
        }
        if header.position > durable_end {
            tracing::warn!(
                position = durable_end,
                frames = header.position - durable_end,
                "passed over frames of a torn write that was never acknowledged"
            );
        }
    }

    /// Goes on at `end` although the frames from `next` on were not found.
    fn lost(&mut self, next: u64, end: u64) {
        if end > next {
            self.report_lost(next, end);
        }
        self.next.position = Position(end);
        self.next.segment = 0;
        self.next.offset = 0;
        self.scan = None;
    }

    fn report_lost(&self, next: u64, end: u64) {
        self.shared.metrics.frames_corrupt.increment(end - next);
        let segment = self.scan.as_ref().map_or(0, Scan::segment);
        tracing::error!(
            position = next,
            frames = end - next,
            segment,
            "spool frames are damaged and lost, going on behind them"
        );
    }
}
