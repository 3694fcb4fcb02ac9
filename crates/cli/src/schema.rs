//! `travertine schema`.

use std::path::Path;

use anyhow::{Result, bail};
use travertine_store::postgres::{self, Standing};

use crate::{
    args::schema::{Schema, SchemaAct},
    place,
    screen::Screen,
    status::Status,
    store::Told,
};

pub(crate) fn schema(args: &Schema, out: &Screen) -> Result<Status> {
    let told =
        |store: &Path, error: travertine_store::Error| Told::of(&error.into(), store, None, false);
    match &args.act {
        SchemaAct::Print { store, shards } => {
            let url = store.as_deref().map(url).transpose()?;
            let here = Path::new("");
            let script = postgres::schema_script(url.as_deref(), *shards);
            out.raw(script.map_err(|it| told(store.as_deref().unwrap_or(here), it))?);
            Ok(Status::Done)
        }
        SchemaAct::Check { store } => {
            match postgres::check_schema(&url(store)?).map_err(|it| told(store, it))? {
                Standing::Ready => {
                    out.line("the tables are as this version wants them");
                    return Ok(Status::Done);
                }
                Standing::Missing => out.line("there are no tables; `travertine schema migrate` makes them"),
                Standing::OtherViews => out.line(
                    "the tables of the views are of another version; `travertine schema migrate` makes them again, \
                     and the next one who opens the store fills them from the log",
                ),
            }
            Ok(Status::Rejected)
        }
        SchemaAct::Migrate { store, shards } => {
            postgres::migrate_schema(&url(store)?, *shards).map_err(|it| told(store, it))?;
            out.line("the tables are as this version wants them");
            Ok(Status::Done)
        }
    }
}

fn url(store: &Path) -> Result<String> {
    place::check(store)?;
    if !place::is_url(store) {
        bail!(
            "{} is a directory, and has no tables to look after; name a postgres:// URL",
            store.display()
        );
    }
    Ok(store.to_string_lossy().into_owned())
}
