//! `Content-Encoding`: gzip and zstd, decompressed no further than the limit.

use std::io::{self, Read};

use flate2::bufread::MultiGzDecoder;
use http::{HeaderMap, header::CONTENT_ENCODING};
use kernel::Error;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::budget::Held;

/// Largest window of a zstd body, as a power of two: 8 MiB, which RFC 8878 asks every decoder to support. A
/// frame may declare gigabytes.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// First size of the buffer for a decompressed body, in bytes; doubled from there.
const INFLATE_STEP_BYTES: usize = 16 << 10;

/// The compression of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    /// RFC 1952, of one or several members.
    Gzip,
    Zstd,
}

impl Encoding {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let (first, second) = (named.next(), named.next());
        let text = first.map_or(Ok(""), http::HeaderValue::to_str).unwrap_or("?");
        match text.trim().to_ascii_lowercase().as_str() {
            _ if second.is_some() => {}
            "" | "identity" => return Ok(Self::Identity),
            "gzip" | "x-gzip" => return Ok(Self::Gzip),
            "zstd" => return Ok(Self::Zstd),
            _ => {}
        }
        Err(Error::UnsupportedMediaType("Content-Encoding must be gzip or zstd".to_owned()))
    }

    /// Decompresses a whole body. Stops at the first byte over `limit`, or over the budget.
    pub(super) fn inflate(
        self,
        packed: Vec<u8>,
        limit: usize,
        held: &mut Held,
    ) -> Result<Vec<u8>, Error> {
        match self {
            Self::Identity => Ok(packed),
            Self::Gzip => drain(MultiGzDecoder::new(packed.as_slice()), limit, held),
            Self::Zstd => {
                let mut decoder =
                    ZstdDecoder::with_buffer(packed.as_slice()).map_err(unreadable)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(unreadable)?;
                drain(decoder, limit, held)
            }
        }
    }
}

/// Reads to the end; the buffer doubles within the budget, and does not exceed `limit` by more than a byte.
fn drain(mut decoder: impl Read, limit: usize, held: &mut Held) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            // One byte of room past the limit distinguishes a body that ends there from a longer one.
            let room = filled.max(INFLATE_STEP_BYTES).min(limit + 1 - filled);
            held.grow(room)?;
            bytes.reserve_exact(room);
            bytes.resize(filled + room, 0);
        }
        match decoder.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(interrupted) if interrupted.kind() == io::ErrorKind::Interrupted => {}
            Err(wrong) => return Err(unreadable(wrong)),
        }
        if filled > limit {
            return Err(Error::TooLarge { limit: limit as u64, received: None });
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn unreadable(wrong: io::Error) -> Error {
    Error::bad_request(format!("body cannot be decompressed: {wrong}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;
    use crate::http::{BodyBudget, BodyLimits};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).unwrap()
    }

    fn inflate(encoding: Encoding, packed: Vec<u8>, limit: usize) -> Result<Vec<u8>, Error> {
        let budget = BodyBudget::new(BodyLimits::of_bytes(64 << 20));
        let mut held = budget.hold_for_public(None);
        let inflated = encoding.inflate(packed, limit, &mut held);
        assert!(held.bytes() <= 2 * limit + 2 + INFLATE_STEP_BYTES, "held {}", held.bytes());
        inflated
    }

    #[test]
    fn a_decompression_bomb_is_inflated_no_further_than_the_limit() {
        let zeros = vec![0; 16 << 20];
        for (encoding, packed) in [(Encoding::Gzip, gzip(&zeros)), (Encoding::Zstd, zstd(&zeros))] {
            assert!(packed.len() < 100_000);
            let refused = inflate(encoding, packed, 100_000);
            assert!(matches!(refused, Err(Error::TooLarge { limit: 100_000, received: None })));
        }
    }

    #[test]
    fn a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not() {
        for size in [1, 1000, INFLATE_STEP_BYTES, INFLATE_STEP_BYTES + 1, 100_000] {
            let bytes = vec![7; size];
            for (encoding, packed) in
                [(Encoding::Gzip, gzip(&bytes)), (Encoding::Zstd, zstd(&bytes))]
            {
                assert_eq!(inflate(encoding, packed.clone(), size).unwrap(), bytes);
                assert!(matches!(inflate(encoding, packed, size - 1), Err(Error::TooLarge { .. })));
            }
        }
    }

    #[test]
    fn a_zstd_window_of_gigabytes_is_refused() {
        // Magic, then a frame header whose window descriptor asks for 2^41 bytes.
        let packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x01, 0x00, 0x00];
        assert!(matches!(inflate(Encoding::Zstd, packed, 1000), Err(Error::BadRequest { .. })));
    }

    #[test]
    fn a_gzip_body_may_have_several_members() {
        let packed = [gzip(b"[1,"), gzip(b"2]")].concat();
        assert_eq!(inflate(Encoding::Gzip, packed, 100).unwrap(), b"[1,2]");
    }

    #[test]
    fn truncated_or_corrupt_bodies_are_refused() {
        for (encoding, packed) in
            [(Encoding::Gzip, gzip(&[9; 500])), (Encoding::Zstd, zstd(&[9; 500]))]
        {
            for cut in 1..packed.len() {
                let refused = inflate(encoding, packed[..cut].to_vec(), 1000);
                assert!(
                    matches!(refused, Err(Error::BadRequest { .. })),
                    "{encoding:?} cut at {cut}"
                );
            }
            assert!(inflate(encoding, b"[1,2,3]".to_vec(), 1000).is_err());
            assert!(inflate(encoding, [packed, b"garbage!".to_vec()].concat(), 1000).is_err());
        }
    }

    #[test]
    fn a_budget_used_up_while_inflating_is_an_answer_not_an_allocation() {
        let budget = BodyBudget::new(BodyLimits::of_bytes(50_000));
        let mut held = budget.hold_for_public(None);
        let refused = Encoding::Gzip.inflate(gzip(&vec![0; 1 << 20]), 1 << 20, &mut held);
        assert!(matches!(refused, Err(Error::Unavailable { .. })));
    }

    #[test]
    fn only_known_encodings_are_taken() {
        let of = |texts: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for text in texts {
                headers.append(CONTENT_ENCODING, http::HeaderValue::from_static(text));
            }
            Encoding::of(&headers).ok()
        };
        assert_eq!(of(&[]), Some(Encoding::Identity));
        assert_eq!(of(&["identity"]), Some(Encoding::Identity));
        assert_eq!(of(&["GZIP"]), Some(Encoding::Gzip));
        assert_eq!(of(&["x-gzip"]), Some(Encoding::Gzip));
        assert_eq!(of(&["zstd"]), Some(Encoding::Zstd));
        for refused in [&["br"][..], &["gzip, zstd"], &["gzip", "zstd"], &["deflate"]] {
            assert_eq!(of(refused), None, "{refused:?}");
        }
    }

    proptest! {
        #[test]
        fn compressed_bodies_are_restored(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
            prop_assert_eq!(inflate(Encoding::Gzip, gzip(&bytes), 2_000).unwrap(), bytes.clone());
            prop_assert_eq!(inflate(Encoding::Zstd, zstd(&bytes), 2_000).unwrap(), bytes);
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = inflate(Encoding::Gzip, bytes.clone(), 1_000);
            let _ = inflate(Encoding::Zstd, bytes, 1_000);
        }
    }
}
