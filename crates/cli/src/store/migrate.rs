//! `travertine migrate`: an instance goes on as another version.

use anyhow::Result;
use travertine_kernel::Mapping;
use travertine_runtime::engine::Target;
use travertine_value::{Name, Value};

use super::{Desk, act};
use crate::{args::store as args, json, status::Status};

pub(crate) fn migrate(args: &args::Migrate, desk: &Desk<'_>) -> Result<Status> {
    let instance = desk.instance(&args.instance)?;
    let look = desk.look(instance)?;
    let id =
        args.definition.as_deref().map_or_else(|| Name::clone(&look.row.definition), Name::from);
    let target = Target::Version(Name::clone(&id), args.to);
    let mapping: Mapping = args.map.iter().cloned().collect();
    let migration =
        desk.ok(desk.engine.try_migration(instance, target.clone(), mapping.clone()).wait())?;
    let possible = migration.problems.is_empty();
    if possible && !args.dry_run {
        desk.ok(desk.engine.migrate(instance, target, mapping).wait())?;
        act::tell(instance, desk)?;
        return Ok(Status::Done);
    }
    desk.tell(
        || {
            let changes: Value = migration
                .changes
                .iter()
                .map(|it| {
                    json::object([
                        ("token", json::key(it.token.0)),
                        ("element", Name::clone(&it.element).into()),
                        ("change", it.to_string().into()),
                    ])
                })
                .collect();
            let problems = migration.problems.iter().map(|it| Value::from(it.to_string()));
            json::object([
                ("instance", json::key(instance.0)),
                ("definition", Name::clone(&id).into()),
                ("from", look.row.version.into()),
                ("to", args.to.into()),
                ("possible", possible.into()),
                ("changes", changes),
                ("problems", problems.collect()),
            ])
        },
        |out| {
            let title = out.paint.bold(format!("{} {}", look.row.definition, instance));
            let to = format!("{id} version {}", args.to);
            if possible {
                out.line(format!("{title} can be migrated to {to}"));
            } else {
                out.line(format!("{title} {} be migrated to {to}", out.paint.red("cannot")));
            }
            migration.problems.iter().for_each(|it| out.line(format!("  {it}")));
            migration.changes.iter().for_each(|it| out.line(format!("  {it}")));
        },
    );
    Ok(if possible { Status::Done } else { Status::Rejected })
}
