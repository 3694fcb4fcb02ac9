//! What can be asked about the tables of a store on PostgreSQL.

use std::path::PathBuf;

/// Print, check or make the tables of a store on PostgreSQL
///
/// A command that makes a store makes its tables, where its role may. Where it may not, `migrate` does with one that may,
/// or an administrator runs what `print` gives. The role that nodes run as needs no more than to read and write them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit status:
  0  done; with check: the tables are as this version wants them
  1  with check: tables are missing, or those of the views are of another version
  2  anything else is wrong

Examples:
  travertine schema print --shards 64 > schema.sql
  travertine schema check --store postgres://app@db.example/app
  travertine schema migrate --store postgres://owner@db.example/app?schema=orders")]
pub(crate) struct Schema {
    #[command(subcommand)]
    pub(crate) act: SchemaAct,
}

/// What to do about them.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum SchemaAct {
    /// Print what makes them, for an administrator
    Print {
        /// The URL, for the name of its schema
        #[arg(long, visible_alias = "data", value_name = "URL")]
        store: Option<PathBuf>,

        /// How many shards the store gets; the number cannot be changed later
        #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
        shards: u16,
    },
    /// Say whether they are as this version wants them
    Check {
        /// The URL of the store
        #[arg(long, visible_alias = "data", value_name = "URL")]
        store: PathBuf,
    },
    /// Make what is missing of them; nobody may have the store open
    Migrate {
        /// The URL of the store
        #[arg(long, visible_alias = "data", value_name = "URL")]
        store: PathBuf,

        /// How many shards a new store gets; the number cannot be changed later
        #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096))]
        shards: u16,
    },
}
