//! The process that asks.

use std::{
    env,
    ffi::OsString,
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, net::UnixStream},
    path::Path,
};

use anyhow::{Context as _, Result, bail};

use super::{
    VERSION,
    frame::{self, Kind},
    socket,
};
use crate::{screen::Screen, shell::DATA_VARIABLE, status::Status};

/// Has a command on a store done by the process that has it open, where one has and does so for others.
pub(crate) fn ask(data: &Path, out: &Screen, err: &Screen) -> Result<Option<Status>> {
    // What a process leaves behind that was killed refuses.
    let connected = socket(data).and_then(|it| UnixStream::connect(it.path));
    let Ok(stream) = connected else { return Ok(None) };
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    name_store(&mut words, data);
    // It may have closed between our coming and our asking: nothing was done then, but it may have said why.
    if hand_over(&stream, &words, out, err).is_err() {
        let mut stream = stream;
        return match frame::read(&mut stream) {
            Ok(Some((Kind::Refused, why))) => bail!("{}", String::from_utf8_lossy(&why)),
            _ => Ok(None),
        };
    }
    follow(stream, data).map(Some)
}

/// Where the server is reached that has a store open.
pub(crate) fn address(data: &Path) -> Result<Option<String>> {
    let connected = socket(data).and_then(|it| UnixStream::connect(it.path));
    let Ok(mut stream) = connected else { return Ok(None) };
    frame::write(&mut stream, Kind::Where, &[])?;
    match frame::read(&mut stream)? {
        Some((Kind::Out, address)) => Ok(Some(String::from_utf8(address)?)),
        _ => Ok(None),
    }
}

/// Adds the store to a command that does not name one: the environment there may name another.
fn name_store(words: &mut Vec<OsString>, data: &Path) {
    let end = words.iter().position(|it| it == "--").unwrap_or(words.len());
    let names = |it: &OsString| {
        ["--data", "--store"].into_iter().any(|name| {
            let rest = it.as_bytes().strip_prefix(name.as_bytes());
            rest.is_some_and(|it| it.is_empty() || it.starts_with(b"="))
        })
    };
    let is_named = words[..end].iter().any(names);
    if !is_named {
        words.splice(end..end, ["--data".into(), data.as_os_str().to_owned()]);
    }
}

fn hand_over(
    mut to: &UnixStream,
    words: &[OsString],
    out: &Screen,
    err: &Screen,
) -> io::Result<()> {
    frame::write(&mut to, Kind::Version, VERSION.as_bytes())?;
    frame::write(&mut to, Kind::Directory, env::current_dir()?.as_os_str().as_bytes())?;
    if let Some(data) = env::var_os(DATA_VARIABLE) {
        frame::write(&mut to, Kind::Data, data.as_bytes())?;
    }
    for word in words {
        frame::write(&mut to, Kind::Word, word.as_bytes())?;
    }
    frame::write(&mut to, Kind::Colours, &[out.paint.is_on().into(), err.paint.is_on().into()])?;
    frame::write(&mut to, Kind::Go, &[])
}

/// Shows what comes back.
fn follow(mut stream: UnixStream, data: &Path) -> Result<Status> {
    let (mut stdout, mut stderr) = (io::stdout(), io::stderr());
    loop {
        match frame::read(&mut stream) {
            // Whoever reads this may be gone: the command is done all the same.
            Ok(Some((Kind::Out, bytes))) => {
                if stdout.write_all(&bytes).and_then(|()| stdout.flush()).is_err() {
                    return Ok(Status::Done);
                }
            }
            Ok(Some((Kind::Err, bytes))) => {
                let _: io::Result<()> = stderr.write_all(&bytes);
            }
            Ok(Some((Kind::WantInput, _))) => {
                let mut input = Vec::new();
                io::stdin().read_to_end(&mut input).context("cannot read standard input")?;
                frame::write(&mut stream, Kind::Input, &input)?;
            }
            Ok(Some((Kind::Exit, code))) => {
                let code = code.first().copied().unwrap_or_default();
                return Ok(Status::of(code).unwrap_or(Status::Usage));
            }
            Ok(Some((Kind::Refused, why))) => bail!("{}", String::from_utf8_lossy(&why)),
            Ok(Some(_) | None) | Err(_) => {
                let data = data.display();
                let mut line = format!(
                    "error: the process that has {data} open ended before it answered; look before you do it again\n"
                );
                line.retain(|it| it == '\n' || !it.is_control());
                let _: io::Result<()> = stderr.write_all(line.as_bytes());
                return Ok(Status::Unknown);
            }
        }
    }
}
