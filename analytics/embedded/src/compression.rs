//! ClickHouse's compressed blocks: a CityHash128 checksum, a method, two sizes, and the data.
//!
//! Layout, little-endian, from ClickHouse's `CompressionInfo.h`: 16 bytes checksum (CityHash 1.0.2, over all that
//! follows), 1 byte method, 4 bytes size of the compressed data with this header of 9 bytes, 4 bytes size of the
//! plain data, then the data. `compress=1` makes answers a row of such blocks, `decompress=1` says requests are.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::fault::{Fault, code};

const CHECKSUM_BYTES: usize = 16;
const HEADER_BYTES: usize = 9;
const METHOD_NONE: u8 = 0x02;
const METHOD_LZ4: u8 = 0x82;
/// The largest block taken, plain and compressed, in bytes. Clients send what they buffered as one block.
const BLOCK_BYTES_MAX: usize = 256 * 1024 * 1024;

/// One block, compressed with LZ4.
pub(crate) fn compress(plain: &[u8]) -> Bytes {
    let mut block = BytesMut::zeroed(
        CHECKSUM_BYTES + HEADER_BYTES + lz4_flex::block::get_maximum_output_size(plain.len()),
    );
    let compressed =
        lz4_flex::block::compress_into(plain, &mut block[CHECKSUM_BYTES + HEADER_BYTES..])
            .expect("the output has the size the compressor asks for");
    block.truncate(CHECKSUM_BYTES + HEADER_BYTES + compressed);
    let size = |bytes: usize| u32::try_from(bytes).expect("a block is cut well below 4 GiB");
    let (mut checksum, mut rest) = block.split_at_mut(CHECKSUM_BYTES);
    let whole = size(rest.len());
    {
        let mut header = &mut rest[..];
        header.put_u8(METHOD_LZ4);
        header.put_u32_le(whole);
        header.put_u32_le(size(plain.len()));
    }
    rest = &mut rest[..];
    checksum.put_u128_le(checksum_of(rest));
    block.freeze()
}

/// Takes one block off the front of `input`; none while it is not all there.
pub(crate) fn take_block(input: &mut BytesMut) -> Result<Option<Block>, Fault> {
    if input.len() < CHECKSUM_BYTES + HEADER_BYTES {
        return Ok(None);
    }
    let mut header = &input[CHECKSUM_BYTES..];
    let method = header.get_u8();
    let (whole, plain) = (header.get_u32_le() as usize, header.get_u32_le() as usize);
    if !(HEADER_BYTES..=BLOCK_BYTES_MAX).contains(&whole) || plain > BLOCK_BYTES_MAX {
        return Err(refused(format_args!(
            "a block of {whole} bytes holding {plain}, at most {BLOCK_BYTES_MAX} are taken"
        )));
    }
    if input.len() < CHECKSUM_BYTES + whole {
        return Ok(None);
    }
    let checksum = input.split_to(CHECKSUM_BYTES).get_u128_le();
    let data = input.split_to(whole).freeze();
    Ok(Some(Block { checksum, method, plain, data }))
}

/// A block that is all there, not yet checked.
#[derive(Debug)]
pub(crate) struct Block {
    checksum: u128,
    method: u8,
    plain: usize,
    data: Bytes,
}

impl Block {
    /// How many bytes the block promises to hold.
    pub(crate) fn plain_bytes(&self) -> usize {
        self.plain
    }

    /// Checks the block and gives what it holds.
    pub(crate) fn open(self) -> Result<Bytes, Fault> {
        if checksum_of(&self.data) != self.checksum {
            return Err(refused("checksum doesn't match: corrupted data"));
        }
        let compressed = self.data.slice(HEADER_BYTES..);
        let plain = match self.method {
            METHOD_NONE => compressed,
            METHOD_LZ4 => {
                let mut plain = vec![0; self.plain];
                let size =
                    lz4_flex::block::decompress_into(&compressed, &mut plain).map_err(refused)?;
                plain.truncate(size);
                Bytes::from(plain)
            }
            method => {
                return Err(refused(format_args!(
                    "unknown compression method {method:#04x}, LZ4 and none are taken"
                )));
            }
        };
        if plain.len() == self.plain {
            Ok(plain)
        } else {
            Err(refused(format_args!(
                "a block holds {} bytes where it promised {}",
                plain.len(),
                self.plain
            )))
        }
    }
}

fn checksum_of(bytes: &[u8]) -> u128 {
    // ClickHouse writes the two halves the other way round.
    cityhash_rs::cityhash_102_128(bytes).rotate_right(64)
}

fn refused(reason: impl std::fmt::Display) -> Fault {
    Fault::new(
        code::CANNOT_DECOMPRESS,
        "CANNOT_DECOMPRESS",
        format_args!("Cannot decompress the request: {reason}"),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn opened(bytes: &[u8]) -> Result<Option<Bytes>, Fault> {
        take_block(&mut BytesMut::from(bytes))?.map(Block::open).transpose()
    }

    #[test]
    fn an_uncompressed_block_is_read() {
        let mut block = vec![0x02, 12, 0, 0, 0, 3, 0, 0, 0];
        block.extend(b"abc");
        let mut whole = checksum_of(&block).to_le_bytes().to_vec();
        whole.extend(&block);
        assert_eq!(opened(&whole).unwrap().unwrap(), "abc");
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed() {
        let block = compress(&b"some rows some rows some rows".repeat(10));
        for at in 0..block.len() {
            let mut broken = block.to_vec();
            broken[at] ^= 1;
            // A changed size may make it wait for more; it never opens.
            assert!(!matches!(opened(&broken), Ok(Some(_))), "byte {at}");
        }
    }

    #[test]
    fn a_block_that_claims_too_much_is_refused_before_memory_is_taken() {
        let mut block = compress(b"abc").to_vec();
        block[CHECKSUM_BYTES + 5..CHECKSUM_BYTES + 9].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(opened(&block).unwrap_err().code, code::CANNOT_DECOMPRESS);
    }

    proptest! {
        #[test]
        fn blocks_decompress_to_their_input(plain in proptest::collection::vec(any::<u8>(), 0..5000), cut in any::<prop::sample::Index>()) {
            let block = compress(&plain);
            prop_assert_eq!(opened(&block).unwrap().unwrap(), &plain);
            prop_assert!(opened(&block[..cut.index(block.len())]).unwrap().is_none());
        }

        #[test]
        fn random_bytes_never_decompress(noise in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(!matches!(opened(&noise), Ok(Some(_))));
        }
    }
}
