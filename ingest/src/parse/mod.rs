//! Request bytes to a simd-json tape, with reused buffers.
