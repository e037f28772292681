//! Values every area speaks: ids, clock, timestamps, JSON bounds, errors. No I/O.
