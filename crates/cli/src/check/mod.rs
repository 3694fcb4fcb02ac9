//! `travertine check`: what becomes of every element.

mod scenario;
mod text;

use anyhow::Result;

use crate::{args, files::Models, screen::Screen, status::Status};

/// Reads the files and reports.
pub(crate) fn check(args: &args::Check, out: &Screen) -> Result<Status> {
    let models = Models::read(&args.files)?;
    if let Some(status) = scenario::check(args, &models, out) {
        return Ok(status);
    }
    let report = models.report();
    let report = if args.strict { report.strictly() } else { report };
    if args.json {
        out.json(&travertine_data::report::report(&report, models.names(), models.has_models()));
    } else {
        text::report(&report, &models, args.all, out);
    }
    let can_run = report.can_run() && models.has_models();
    Ok(if can_run { Status::Done } else { Status::Rejected })
}
