//! Commands on a store that another process has open.
//!
//! One process at a time has a store. While `travertine serve` or `travertine work` has it, other commands ask
//! that process: it listens on the socket `control` beside the store, which nobody can open who cannot open the
//! store. A command is handed over as it was typed, with the directory it was typed in. It is parsed and done
//! there by the same code, so it gives the same text and the same JSON as without.
//!
//! The two talk in frames: a kind, a length, and so many bytes.

mod ask;
mod frame;
mod serve;

pub(crate) use ask::{address, ask};
pub(crate) use serve::{Control, Lookers, Served};

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use crate::place;

/// The socket of a store.
const SOCKET: &str = "control";

/// Commands of other versions may mean something else by the same words.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the socket of a store is. Addresses of sockets are short: a long path is one below its directory, which
/// must stay open.
struct Place {
    path: PathBuf,
    _directory: Option<File>,
}

/// The longest address of a socket that all systems take.
const ADDRESS_BYTES_MAX: usize = 100;

fn socket(data: &Path) -> io::Result<Place> {
    let data = &place::local(data)?;
    let path = data.join(SOCKET);
    if path.as_os_str().len() <= ADDRESS_BYTES_MAX || !cfg!(target_os = "linux") {
        return Ok(Place { path, _directory: None });
    }
    let directory = File::open(data)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd())).join(SOCKET);
    Ok(Place { path, _directory: Some(directory) })
}
