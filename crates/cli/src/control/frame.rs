//! What the two processes say to each other.

use std::io::{self, Read, Write};

/// A command is no longer than a shell would take; what goes in or out in one frame no larger than this.
const BYTES_MAX: u32 = 512 << 20;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    // From who asks.
    /// Which version of `travertine` it is.
    Version = b'v',
    /// Where it is.
    Directory = b'd',
    /// The store that its environment names.
    Data = b'D',
    /// One word of the command.
    Word = b'w',
    /// Whether standard output and standard error show colours.
    Colours = b'c',
    /// Where clients of other protocols reach it; nothing else is asked.
    Where = b'W',
    /// That is all.
    Go = b'g',
    /// What stands on its standard input.
    Input = b'i',

    // From who answers.
    /// Something for standard output.
    Out = b'o',
    /// Something for standard error.
    Err = b'e',
    /// It would like to have what stands on standard input.
    WantInput = b'I',
    /// The exit status.
    Exit = b'x',
    /// It cannot do this for others. Nothing was done.
    Refused = b'r',
}

const KINDS: [Kind; 13] = [
    Kind::Where,
    Kind::Version,
    Kind::Directory,
    Kind::Data,
    Kind::Word,
    Kind::Colours,
    Kind::Go,
    Kind::Input,
    Kind::Out,
    Kind::Err,
    Kind::WantInput,
    Kind::Exit,
    Kind::Refused,
];

pub(super) fn write(to: &mut impl Write, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(bytes.len() + 5);
    frame.push(kind as u8);
    frame.extend(length.to_le_bytes());
    frame.extend(bytes);
    to.write_all(&frame)
}

/// The next frame, or none where the other side has closed.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<(Kind, Vec<u8>)>> {
    let mut kind = [0];
    if from.read(&mut kind)? == 0 {
        return Ok(None);
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    let kind = KINDS.into_iter().find(|it| *it as u8 == kind[0]);
    let Some(kind) = kind.filter(|_| length <= BYTES_MAX) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no frame of ours"));
    };
    let mut bytes = Vec::new();
    from.take(length.into()).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != u64::from(length) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((kind, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written_and_nothing_else_is_one() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::Word, b"show").unwrap();
        write(&mut bytes, Kind::Go, b"").unwrap();
        let mut from = &bytes[..];
        assert_eq!(read(&mut from).unwrap(), Some((Kind::Word, b"show".to_vec())));
        assert_eq!(read(&mut from).unwrap(), Some((Kind::Go, Vec::new())));
        assert_eq!(read(&mut from).unwrap(), None);
        for broken in [&b"w"[..], b"w\x04\0\0\0sh", b"?\0\0\0\0", b"w\xff\xff\xff\xff"] {
            assert!(read(&mut &broken[..]).is_err(), "{broken:?}");
        }
    }
}
