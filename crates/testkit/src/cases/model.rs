//! Models as the reader sees them.
//!
//! Where a suite writes times as expressions of its own language, nothing in the model says so. They
//! are put in terms of ours before reading.

use std::{fs, io};

use super::{
    format::{Case, Suite},
    language::look_up,
};

/// The files of a case: name and content.
pub(super) fn files(suite: &Suite, case: &Case) -> io::Result<Vec<(String, Vec<u8>)>> {
    let read = |name: &String| {
        let bytes = fs::read(suite.folder.join(name))?;
        let bytes = match String::from_utf8(bytes) {
            Ok(text) if !suite.expressions.is_empty() => with_times(suite, &text).into_bytes(),
            Ok(text) => text.into_bytes(),
            Err(other) => other.into_bytes(),
        };
        Ok((name.clone(), bytes))
    };
    case.files.iter().map(read).collect()
}

const TIMES: [&str; 3] = ["timeDate", "timeDuration", "timeCycle"];

/// The text of the model, with the times that the suite says the meaning of replaced by that.
fn with_times(suite: &Suite, model: &str) -> String {
    let mut out = String::with_capacity(model.len());
    let mut rest = model;
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>').map(|it| open + it + 1) else { break };
        let (tag, after) = (&rest[open + 1..close - 1], &rest[close..]);
        out.push_str(&rest[..close]);
        rest = after;
        let name = tag.split([' ', '\n', '\t', '\r']).next().unwrap_or_default();
        let local = name.rsplit(':').next().unwrap_or_default();
        if !TIMES.contains(&local) || tag.ends_with('/') {
            continue;
        }
        let Some(end) = rest.find('<') else { break };
        let text = rest[..end].replace("&quot;", "\"").replace("&apos;", "'");
        let meaning = look_up(&suite.expressions, &text).and_then(|it| it.as_str());
        out.push_str(meaning.unwrap_or(&rest[..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}
