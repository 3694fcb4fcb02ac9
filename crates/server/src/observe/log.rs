//! What the server says about itself: a line for each event, as text or as JSON. Bodies and variables are never
//! part of it.

use std::{collections::BTreeMap, fmt, io};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

/// Logs to standard error what is at least as serious as `level`.
///
/// ```no_run
/// travertine_server::log(tracing::Level::INFO, true);
/// ```
pub fn log(level: Level, json: bool) {
    let base = tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr);
    // Where the program has its own, that one stays.
    let _: Result<(), _> = if json {
        tracing::subscriber::set_global_default(base.event_format(Json).finish())
    } else {
        tracing::subscriber::set_global_default(base.with_ansi(false).with_target(false).finish())
    };
}

/// Events as JSON, a line each.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut fields = Fields(BTreeMap::new());
        fields.0.insert("time", time.into());
        fields.0.insert("level", event.metadata().level().as_str().into());
        fields.0.insert("target", event.metadata().target().into());
        event.record(&mut fields);
        let line = serde_json::to_string(&fields.0).map_err(|_| fmt::Error)?;
        writeln!(writer, "{line}")
    }
}

struct Fields(BTreeMap<&'static str, serde_json::Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name(), value.into());
    }
}
