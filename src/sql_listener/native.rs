//! Blocks of ClickHouse's native format, in the version of a client (`src/Formats/NativeWriter.cpp` of ClickHouse): with
//! information about the block before it, and a byte about serialization behind each type.

/// Information about a block: fields 1 (no overflow) and 2 (no bucket), then the end.
const BLOCK_INFO: [u8; 8] = [1, 0, 2, 0xff, 0xff, 0xff, 0xff, 0];
/// The first version with a byte about serialization.
const WITH_SERIALIZATION: u64 = 54_454;
/// Most columns of a block; only few values are written so.
const COLUMNS_MAX: u64 = 100;

/// Blocks of version 0, of numbers and texts, in another version. None where they hold anything else.
pub(crate) fn in_version(blocks: &[u8], version: u64) -> Option<Vec<u8>> {
    let mut reader = Reader { rest: blocks };
    let mut written = Vec::new();
    while !reader.rest.is_empty() {
        written.extend(BLOCK_INFO);
        let head = reader.rest;
        let columns = reader.number()?;
        let rows = reader.number()?;
        if columns > COLUMNS_MAX {
            return None;
        }
        written.extend(reader.since(head)?);
        for _ in 0..columns {
            let column = reader.rest;
            reader.text()?;
            let kind = reader.text()?.to_vec();
            written.extend(reader.since(column)?);
            if version >= WITH_SERIALIZATION {
                written.push(0);
            }
            let values = reader.rest;
            for _ in 0..rows {
                match kind.as_slice() {
                    b"String" => drop(reader.text()?),
                    b"UInt8" | b"Int8" => drop(reader.take(1)?),
                    b"UInt16" | b"Int16" => drop(reader.take(2)?),
                    b"UInt32" | b"Int32" | b"Float32" => drop(reader.take(4)?),
                    b"UInt64" | b"Int64" | b"Float64" => drop(reader.take(8)?),
                    _ => return None,
                }
            }
            written.extend(reader.since(values)?);
        }
    }
    Some(written)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// What was read since the rest was `earlier`.
    fn since(&self, earlier: &'a [u8]) -> Option<&'a [u8]> {
        earlier.get(..earlier.len().checked_sub(self.rest.len())?)
    }

    /// A number in seven bits a byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_gets_what_its_version_has() {
        let mut block = vec![2, 1, 1, b'a', 6];
        block.extend(b"String");
        block.extend([3, b'x', b'y', b'z', 1, b'b', 6]);
        block.extend(b"UInt32");
        block.extend([7, 0, 0, 0]);
        let mut expected = BLOCK_INFO.to_vec();
        expected.extend([2, 1, 1, b'a', 6]);
        expected.extend(b"String");
        expected.extend([0, 3, b'x', b'y', b'z', 1, b'b', 6]);
        expected.extend(b"UInt32");
        expected.extend([0, 7, 0, 0, 0]);
        assert_eq!(in_version(&block, 54_460), Some(expected));
        assert_eq!(in_version(&block, 54_405).unwrap().len(), block.len() + BLOCK_INFO.len());
        block.pop();
        assert_eq!(in_version(&block, 54_460), None);
        assert_eq!(in_version(&[1, 1, 1, b'a', 4, b'D', b'a', b't', b'e', 0, 0], 54_460), None);
    }
}
