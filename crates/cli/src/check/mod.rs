//! `travertine check`: what becomes of every element.

mod data;
mod text;

use anyhow::Result;

use crate::{args, files::Models, screen::Screen, status::Status};

/// Reads the files and reports.
pub(crate) fn check(args: &args::Check, out: &Screen) -> Result<Status> {
    let models = Models::read(&args.files)?;
    let report = models.report();
    let report = if args.strict { report.strictly() } else { report };
    if args.json {
        out.json(&data::report(&report, &models));
    } else {
        text::report(&report, &models, args.all, out);
    }
    Ok(if report.can_run() { Status::Done } else { Status::Rejected })
}
