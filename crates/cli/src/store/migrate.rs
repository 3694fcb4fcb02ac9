//! `travertine migrate`: an instance goes on as another version.

use anyhow::Result;
use travertine_data::migration;
use travertine_kernel::Mapping;
use travertine_runtime::engine::Target;
use travertine_value::Name;

use super::{Desk, act};
use crate::{args::store as args, status::Status};

pub(crate) fn migrate(args: &args::Migrate, desk: &Desk<'_>) -> Result<Status> {
    let instance = desk.instance(&args.instance)?;
    let look = desk.look(instance)?;
    let id =
        args.definition.as_deref().map_or_else(|| Name::clone(&look.row.definition), Name::from);
    let target = Target::Version(Name::clone(&id), args.to);
    let mapping: Mapping = args.map.iter().cloned().collect();
    let tried =
        desk.ok(desk.engine.try_migration(instance, target.clone(), mapping.clone()).wait())?;
    let possible = tried.problems.is_empty();
    if possible && !args.dry_run {
        desk.ok(desk.engine.migrate(instance, target, mapping).wait())?;
        act::tell(instance, desk)?;
        return Ok(Status::Done);
    }
    desk.tell(
        || migration::migration(instance, &look.row, (&id, args.to), &tried),
        |out| {
            let title = out.paint.bold(format!("{} {}", look.row.definition, instance));
            let to = format!("{id} version {}", args.to);
            if possible {
                out.line(format!("{title} can be migrated to {to}"));
            } else {
                out.line(format!("{title} {} be migrated to {to}", out.paint.red("cannot")));
            }
            tried.problems.iter().for_each(|it| out.line(format!("  {it}")));
            tried.changes.iter().for_each(|it| out.line(format!("  {it}")));
        },
    );
    Ok(if possible { Status::Done } else { Status::Rejected })
}
