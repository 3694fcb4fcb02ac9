//! What people set, and where: flags come before variables of the environment, these before the file, and that
//! before what holds where nobody says anything.
//!
//! `SETTINGS` is the table of everything that can be set; all four ways read it.

use std::{fmt, fmt::Write as _, num::NonZeroU32, path::PathBuf, time::Duration};

use travertine_runtime::{Kept, KeptHistory, Timestamp};

use crate::{Access, ApiKey, Grant, Network, Options, Password, Rate, Tls};

/// Everything that can be set for a server that is a program of its own.
///
/// ```
/// # use travertine_server::Config;
/// let mut config = Config::default();
/// config.read_toml("[listen]\nrest = \"127.0.0.1:9090\"", "travertine.toml")?;
/// config.set("limits.body", "1MiB", "--set")?;
/// assert_eq!(config.options.listen, "127.0.0.1:9090");
/// assert_eq!(config.options.limits.body, 1 << 20);
/// # Ok::<(), travertine_server::BadConfig>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The directory of the store.
    pub data: PathBuf,
    /// How many shards a new store gets.
    pub shards: u16,
    /// The least serious messages that are logged.
    pub log: tracing::Level,
    /// Whether they are logged as JSON.
    pub log_json: bool,
    /// What is kept of what is over in instances.
    pub history: KeptHistory,
    /// How the server behaves. Its certificate is what `tls` says.
    pub options: Options,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    rate: Option<NonZeroU32>,
    burst: Option<NonZeroU32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "travertine-data".into(),
            shards: 1,
            log: tracing::Level::INFO,
            log_json: false,
            history: KeptHistory { jobs: Kept::WithInstance, ..KeptHistory::default() },
            options: Options::default(),
            tls_cert: None,
            tls_key: None,
            rate: None,
            burst: None,
        }
    }
}

/// Why something cannot be set.
///
/// ```
/// # use travertine_server::Config;
/// let why = Config::default().set("limits.bodi", "1", "--set").err();
/// assert_eq!(why.map(|it| it.to_string()).as_deref(),
///     Some("--set: there is no setting limits.bodi; do you mean limits.body?"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfig {
    from: String,
    reason: String,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.from, self.reason)
    }
}

impl std::error::Error for BadConfig {}

/// One thing that can be set.
struct Setting {
    key: &'static str,
    set: fn(&mut Config, &str) -> Result<(), String>,
    /// Its value as TOML, where it has one.
    show: fn(&Config) -> Option<String>,
}

macro_rules! settings {
    ($($key:literal $($at:ident).+ : $read:ident / $show:ident;)*) => {
        const SETTINGS: &[Setting] = &[$(Setting {
            key: $key,
            set: |config, text| {
                config.$($at).+ = $read(text)?;
                Ok(())
            },
            show: |config| $show(&config.$($at).+),
        }),*];
    };
}

settings! {
    "listen.rest" options.listen: text / show_text;
    "listen.grpc" options.grpc_listen: text_or_off / show_text_or_off;
    "listen.manage" options.manage: text_or_off / show_text_or_off;
    "listen.hosts" options.hosts: list / show_list;
    "listen.base_path" options.base_path: base_path / show_text;
    "listen.tls_cert" tls_cert: path / show_path;
    "listen.tls_key" tls_key: path / show_path;
    "store.data" data: dir / show_dir;
    "store.shards" shards: number / show_number;
    "access.insecure" options.insecure: flag / show_number;
    "history.jobs" history.jobs: kept / show_kept;
    "history.tasks" history.tasks: kept / show_kept;
    "history.incidents" history.incidents: kept / show_kept;
    "jobs.poll_default" options.poll_default: span / show_span;
    "jobs.result_default" options.result_default: span / show_span;
    "limits.body" options.limits.body: size / show_number;
    "limits.multipart" options.limits.multipart: size / show_number;
    "limits.message" options.limits.message: size / show_number;
    "limits.headers" options.limits.headers: size / show_number;
    "limits.connections" options.limits.connections: number / show_number;
    "limits.streams_per_connection" options.limits.streams_per_connection: number / show_number;
    "limits.requests" options.limits.requests: number / show_number;
    "limits.polls" options.limits.polls: number / show_number;
    "limits.streams" options.limits.streams: number / show_number;
    "limits.bytes" options.limits.bytes: size / show_number;
    "limits.rate" rate: count_or_off / show_count_or_off;
    "limits.burst" burst: count_or_off / show_count_or_off;
    "limits.header_time" options.limits.header_time: span / show_span;
    "limits.body_time" options.limits.body_time: span / show_span;
    "limits.handshake_time" options.limits.handshake_time: span / show_span;
    "limits.write_time" options.limits.write_time: span / show_span;
    "limits.idle_time" options.limits.idle_time: span / show_span;
    "connect.allow" options.connect_allow: networks / show_networks;
    "shutdown.drain" options.drain: span / show_span;
    "observe.log" log: level / show_level;
    "observe.log_json" log_json: flag / show_number;
}

impl Config {
    /// Sets one thing. `from` says where that comes from, for errors.
    ///
    /// ```
    /// # use travertine_server::Config;
    /// let mut config = Config::default();
    /// config.set("jobs.poll_default", "30s", "--set")?;
    /// # Ok::<(), travertine_server::BadConfig>(())
    /// ```
    pub fn set(&mut self, key: &str, text: &str, from: &str) -> Result<(), BadConfig> {
        let bad = |reason| BadConfig { from: from.to_owned(), reason };
        let Some(setting) = SETTINGS.iter().find(|it| it.key == key) else {
            return Err(bad(unknown(key)));
        };
        (setting.set)(self, text).map_err(|why| bad(format!("{key}: {why}")))
    }

    /// Takes what a file says.
    ///
    /// ```
    /// # use travertine_server::Config;
    /// let mut config = Config::default();
    /// config.read_toml("[limits]\nconnections = 100", "travertine.toml")?;
    /// # Ok::<(), travertine_server::BadConfig>(())
    /// ```
    pub fn read_toml(&mut self, text: &str, from: &str) -> Result<(), BadConfig> {
        let bad = |reason: String| BadConfig { from: from.to_owned(), reason };
        let table: toml::Table = text
            .parse()
            .map_err(|it: toml::de::Error| bad(it.to_string().trim_end().to_owned()))?;
        for (section, value) in &table {
            let Some(section_table) = value.as_table() else {
                return Err(bad(unknown(section)));
            };
            for (name, value) in section_table {
                match (section.as_str(), name.as_str()) {
                    ("access", "users") => self.read_users(value).map_err(bad)?,
                    ("access", "keys") => self.read_keys(value).map_err(bad)?,
                    _ => {
                        let key = format!("{section}.{name}");
                        let text = plain(value).ok_or_else(|| {
                            bad(match value {
                                toml::Value::Table(_) => unknown(&key),
                                _ => format!(
                                    "{key}: write it as a text, a number, or a list of texts"
                                ),
                            })
                        })?;
                        self.set(&key, &text, from)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes what variables of the environment say: `TRAVERTINE_LIMITS_BODY` is `limits.body`.
    ///
    /// ```
    /// # use travertine_server::Config;
    /// let mut config = Config::default();
    /// config.read_env(|name| (name == "TRAVERTINE_LISTEN_REST").then(|| "127.0.0.1:1".to_owned()))?;
    /// assert_eq!(config.options.listen, "127.0.0.1:1");
    /// # Ok::<(), travertine_server::BadConfig>(())
    /// ```
    pub fn read_env(&mut self, var: impl Fn(&str) -> Option<String>) -> Result<(), BadConfig> {
        for setting in SETTINGS {
            let name = variable(setting.key);
            if let Some(text) = var(&name).filter(|it| !it.is_empty()) {
                self.set(setting.key, &text, &name)?;
            }
        }
        Ok(())
    }

    /// Looks at what can only be wrong together, and completes the options.
    ///
    /// ```
    /// # use travertine_server::Config;
    /// let options = Config::default().complete()?.options;
    /// assert!(options.tls.is_none());
    /// # Ok::<(), travertine_server::BadConfig>(())
    /// ```
    pub fn complete(mut self) -> Result<Self, BadConfig> {
        let bad = |reason: &str| BadConfig { from: "listen".to_owned(), reason: reason.to_owned() };
        self.options.tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => Some(Tls { cert: cert.clone(), key: key.clone() }),
            (None, None) => None,
            (Some(_), None) => return Err(bad("tls_cert needs tls_key, its private key")),
            (None, Some(_)) => return Err(bad("tls_key needs tls_cert, its certificate")),
        };
        self.options.rate = match (self.rate, self.burst) {
            (None, None) => None,
            // As many at once as in a second.
            (Some(requests), burst) => {
                let per = Duration::from_secs(1);
                Some(Rate { requests, per, burst: burst.unwrap_or(requests) })
            }
            (None, Some(_)) => {
                let reason = "burst needs rate, the number of requests a second".to_owned();
                return Err(BadConfig { from: "limits".to_owned(), reason });
            }
        };
        Ok(self)
    }

    /// Everything as a file would say it. Secrets are hidden.
    ///
    /// ```
    /// # use travertine_server::Config;
    /// assert!(Config::default().to_toml().contains("rest = \"127.0.0.1:8080\""));
    /// ```
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for setting in SETTINGS {
            let (section, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
            if section != last {
                let gap = if text.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{gap}[{section}]");
                last = section;
            }
            match (setting.show)(self) {
                Some(value) => _ = writeln!(text, "{name} = {value}"),
                None => _ = writeln!(text, "# {name} is not set"),
            }
        }
        let hidden = |title: &str, names: Vec<&str>| {
            let lines = names.iter().map(|it| format!("{} = \"(hidden)\"\n", quoted(it)));
            let lines: String = lines.collect();
            if lines.is_empty() { lines } else { format!("\n[{title}]\n{lines}") }
        };
        text.push_str(&hidden("access.users", self.options.access.users().collect()));
        text.push_str(&hidden("access.keys", self.options.access.keys().collect()));
        text
    }

    /// `[access.users]`: a name and the hash of a password each, or a table with `password`, `groups` and `grants`.
    fn read_users(&mut self, value: &toml::Value) -> Result<(), String> {
        let users = value.as_table().ok_or("access.users: write NAME = \"HASH\" for each")?;
        for (name, value) in users {
            let fault = |why: &dyn fmt::Display| format!("access.users.{name}: {why}");
            let login = Login::read(value, "password").map_err(|it| fault(&it))?;
            let password: Password = login.hash.parse().map_err(|it| fault(&it))?;
            if name.contains(':') {
                return Err(fault(&"the name of a user has no colon"));
            }
            if login.expires.is_some() {
                return Err(fault(&"only keys expire"));
            }
            let access = std::mem::take(&mut self.options.access).user(name, password);
            self.options.access = login.granted(access, name).map_err(|it| fault(&it))?;
        }
        Ok(())
    }

    /// `[access.keys]`: an id and the hash of a key each, or a table with `sha256`, `expires`, `groups` and `grants`.
    fn read_keys(&mut self, value: &toml::Value) -> Result<(), String> {
        let keys = value.as_table().ok_or("access.keys: write ID = \"HASH\" for each")?;
        for (id, value) in keys {
            let fault = |why: &dyn fmt::Display| format!("access.keys.{id}: {why}");
            let login = Login::read(value, "sha256").map_err(|it| fault(&it))?;
            let key: ApiKey = login.hash.parse().map_err(|it| fault(&it))?;
            let expires = login.expires.map(|it| {
                let text = plain(it).unwrap_or_default();
                date(&text).ok_or_else(|| fault(&"write expires like 2027-01-31T00:00:00Z"))
            });
            let expires = expires.transpose()?;
            let access = std::mem::take(&mut self.options.access).key(id, key, expires);
            self.options.access = login.granted(access, id).map_err(|it| fault(&it))?;
        }
        Ok(())
    }
}

/// What the file says of somebody who may log in.
struct Login<'a> {
    hash: &'a str,
    expires: Option<&'a toml::Value>,
    groups: Option<&'a toml::Value>,
    grants: Option<&'a toml::Value>,
}

impl<'a> Login<'a> {
    fn read(value: &'a toml::Value, hash: &str) -> Result<Self, String> {
        let missing = || "write the hash as a text".to_owned();
        let table = match value {
            toml::Value::String(hash) => {
                return Ok(Self { hash, expires: None, groups: None, grants: None });
            }
            toml::Value::Table(table) => table,
            _ => return Err(missing()),
        };
        let known = [hash, "expires", "groups", "grants"];
        if let Some(wrong) = table.keys().find(|it| !known.contains(&it.as_str())) {
            return Err(format!("there is no {wrong}; it has {}", known.join(", ")));
        }
        Ok(Self {
            hash: table.get(hash).and_then(toml::Value::as_str).ok_or_else(missing)?,
            expires: table.get("expires"),
            groups: table.get("groups"),
            grants: table.get("grants"),
        })
    }

    fn granted(&self, mut access: Access, name: &str) -> Result<Access, String> {
        let texts = |value: &toml::Value, what: &str| {
            let list = value.as_array().map(|it| it.iter().map(toml::Value::as_str));
            let list: Option<Option<Vec<String>>> =
                list.map(|it| it.map(|it| it.map(str::to_owned)).collect());
            list.flatten().ok_or_else(|| format!("write {what} as a list of texts"))
        };
        for group in self.groups.map(|it| texts(it, "groups")).transpose()?.unwrap_or_default() {
            access = access.member(name, &group);
        }
        if let Some(grants) = self.grants {
            let grants = texts(grants, "grants")?.into_iter();
            let grants: Result<Vec<Grant>, _> = grants.map(|it| it.parse()).collect();
            access = access.grant(name, grants.map_err(|it| it.to_string())?);
        }
        Ok(access)
    }
}

/// The variable of the environment for a setting.
fn variable(key: &str) -> String {
    match key {
        // Known to all commands.
        "store.data" => "TRAVERTINE_DATA".to_owned(),
        _ => format!("TRAVERTINE_{}", key.replace('.', "_").to_ascii_uppercase()),
    }
}

/// Says that there is no such setting, and which one may be meant.
fn unknown(key: &str) -> String {
    let keys = SETTINGS.iter().map(|it| it.key).chain(["access.users", "access.keys"]);
    let near = keys.map(|it| (strsim::damerau_levenshtein(key, it), it)).min();
    let near = near.filter(|(distance, _)| *distance <= 3.max(key.len() / 4));
    // A word that stands in the wrong section.
    let name = key.rsplit('.').next().unwrap_or(key);
    let ends = || SETTINGS.iter().map(|it| it.key).find(|it| it.rsplit('.').next() == Some(name));
    match near.map(|(_, it)| it).or_else(ends) {
        Some(meant) => format!("there is no setting {key}; do you mean {meant}?"),
        None => format!("there is no setting {key}; `travertine serve --print-config` lists all"),
    }
}

/// A value of a file as text.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(it) => Some(it.clone()),
        toml::Value::Integer(it) => Some(it.to_string()),
        toml::Value::Boolean(it) => Some(it.to_string()),
        toml::Value::Datetime(it) => Some(it.to_string()),
        toml::Value::Array(all) => {
            let all: Option<Vec<&str>> = all.iter().map(toml::Value::as_str).collect();
            all.map(|it| it.join(","))
        }
        toml::Value::Float(_) | toml::Value::Table(_) => None,
    }
}

fn date(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table can fail")]
fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// `/` stands for no path, too.
fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-._~/".contains(it);
    if (path.is_empty() || path.starts_with('/'))
        && !path.contains("//")
        && path.chars().all(is_plain)
    {
        return Ok(path.to_owned());
    }
    Err(format!("{text:?} is no path; write one such as /flow"))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table can fail")]
fn text_or_off(text: &str) -> Result<Option<String>, String> {
    Ok((text != "off").then(|| text.to_owned()))
}

fn count_or_off(text: &str) -> Result<Option<NonZeroU32>, String> {
    if text == "off" { Ok(None) } else { number::<u32>(text).map(NonZeroU32::new) }
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table can fail")]
fn list(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect())
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table can fail")]
fn path(text: &str) -> Result<Option<PathBuf>, String> {
    Ok((!text.is_empty()).then(|| text.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table can fail")]
fn dir(text: &str) -> Result<PathBuf, String> {
    Ok(text.into())
}

fn number<N: std::str::FromStr + From<u8> + PartialOrd>(text: &str) -> Result<N, String> {
    let number: Option<N> = text.replace('_', "").parse().ok();
    number
        .filter(|it| *it >= N::from(1))
        .ok_or_else(|| format!("{text} is no number that can be used; write one from 1 on"))
}

fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("{text} is neither true nor false"))
}

/// Bytes: `16MiB`, `64KiB`, `4096`.
fn size(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, usize); 5] =
        [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1), ("", 1)];
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(unit, _)| *unit == &text[digits.len()..]);
    let count: Option<usize> = digits.trim_end().replace('_', "").parse().ok();
    let bytes = unit.zip(count).and_then(|((_, unit), count)| count.checked_mul(*unit));
    bytes
        .filter(|it| *it > 0)
        .ok_or_else(|| format!("{text} is no size; write it like 16MiB or 64KiB"))
}

/// A span of time: `10s`, `500ms`, `2min`.
fn span(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 5] =
        [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(unit, _)| *unit == &text[digits.len()..]);
    let count: Option<u64> = digits.trim_end().parse().ok();
    let millis = unit.zip(count).and_then(|((_, unit), count)| count.checked_mul(*unit));
    millis
        .filter(|it| *it > 0)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text} is no span of time; write it like 500ms, 10s or 2min"))
}

fn networks(text: &str) -> Result<Vec<Network>, String> {
    list(text)?.iter().map(|it| it.parse()).collect()
}

fn kept(text: &str) -> Result<Kept, String> {
    match text {
        "no" => Ok(Kept::No),
        "instance" => Ok(Kept::WithInstance),
        other => span(other).map(Kept::For).map_err(|_| {
            format!(
                "{other} does not say how long; write instance, for as long as the instance is kept, a span like 30d, or no"
            )
        }),
    }
}

fn level(text: &str) -> Result<tracing::Level, String> {
    text.parse().map_err(|_| format!("{text} is none of error, warn, info, debug, trace"))
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_text(text: &str) -> Option<String> {
    Some(quoted(text))
}

#[expect(clippy::ref_option, reason = "all of them take what the table has")]
#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_text_or_off(text: &Option<String>) -> Option<String> {
    Some(quoted(text.as_deref().unwrap_or("off")))
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "all of them take what the table has"
)]
#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_count_or_off(count: &Option<NonZeroU32>) -> Option<String> {
    Some(count.map_or_else(|| quoted("off"), |it| it.to_string()))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_list(all: &[String]) -> Option<String> {
    let all: Vec<String> = all.iter().map(|it| quoted(it)).collect();
    Some(format!("[{}]", all.join(", ")))
}

#[expect(clippy::ref_option, reason = "all of them take what the table has")]
fn show_path(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|it| quoted(&it.display().to_string()))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_dir(path: &std::path::Path) -> Option<String> {
    Some(quoted(&path.display().to_string()))
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_number<N: fmt::Display>(number: &N) -> Option<String> {
    Some(number.to_string())
}

#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_span(span: &Duration) -> Option<String> {
    let millis = span.as_millis();
    let text = if millis.is_multiple_of(1_000) {
        format!("{}s", millis / 1_000)
    } else {
        format!("{millis}ms")
    };
    Some(quoted(&text))
}

fn show_networks(networks: &[Network]) -> Option<String> {
    let all: Vec<String> = networks.iter().map(ToString::to_string).collect();
    show_list(&all)
}

fn show_kept(kept: &Kept) -> Option<String> {
    match kept {
        Kept::No => Some(quoted("no")),
        Kept::WithInstance => Some(quoted("instance")),
        Kept::For(age) => show_span(age),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "all of them take what the table has")]
#[expect(clippy::unnecessary_wraps, reason = "others in the table may have no value")]
fn show_level(level: &tracing::Level) -> Option<String> {
    Some(quoted(&level.to_string().to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        let mut config = Config::default();
        config.read_toml(text, "travertine.toml").map_err(|it| it.to_string())?;
        config.complete().map_err(|it| it.to_string())
    }

    #[test]
    fn unknown_settings_are_errors_that_name_what_is_meant() {
        let why = |text: &str| read(text).expect_err("it is wrong");
        assert!(why("[limits]\nbodi = 1").contains("do you mean limits.body?"));
        assert!(why("[lisen]\nrest = \"x\"").contains("do you mean listen.rest?"));
        assert!(why("[listen]\ndata = \"x\"").contains("do you mean store.data?"));
        assert!(why("[wholly.other]\nx = 1").contains("--print-config"));
        assert!(why("rest = 1").contains("do you mean listen.rest?"));
        assert!(why("[limits]\nbody = 1.5").contains("limits.body"));
        assert!(why("[limits").contains("travertine.toml"));
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        let why = |text: &str| read(text).expect_err("it is wrong");
        assert!(why("[limits]\nbody = \"much\"").contains("like 16MiB"));
        assert!(why("[limits]\nbody = 0").contains("like 16MiB"));
        assert!(why("[limits]\nconnections = 0").contains("from 1 on"));
        assert!(why("[limits]\nbody_time = \"soon\"").contains("like 500ms"));
        assert!(why("[observe]\nlog = \"loud\"").contains("none of error"));
        assert!(why("[listen]\ntls_cert = \"a.pem\"").contains("needs tls_key"));
        assert!(why("[access.users]\nann = \"secret\"").contains("argon2id"));
        assert!(why("[access.keys]\nw = \"secret\"").contains("SHA-256"));
        assert!(why("[access.keys]\nw = { sha25 = \"x\" }").contains("sha256, expires"));
        let (key, _) = ApiKey::draw("w");
        let boss = format!("[access.keys]\nw = {{ sha256 = \"{key}\", grants = [\"boss\"] }}");
        assert!(why(&boss).contains("operator"));
    }

    #[test]
    fn variables_of_the_environment_come_before_the_file() {
        let mut config =
            read("[listen]\nrest = \"127.0.0.1:1\"\ngrpc = \"off\"").expect("it is right");
        let vars = |name: &str| match name {
            "TRAVERTINE_LISTEN_REST" => Some("127.0.0.1:2".to_owned()),
            "TRAVERTINE_DATA" => Some("elsewhere".to_owned()),
            _ => None,
        };
        config.read_env(vars).expect("they are right");
        assert_eq!(config.options.listen, "127.0.0.1:2");
        assert_eq!(config.options.grpc_listen, None);
        assert_eq!(config.data, PathBuf::from("elsewhere"));
    }

    #[test]
    fn what_is_printed_can_be_read_again_and_shows_no_secrets() {
        let (key, _) = ApiKey::draw("worker");
        let password = Password::hash("correct horse");
        let text = format!(
            "[access.users]\nann = \"{password}\"\n[access.keys]\nworker = {{ sha256 = \"{key}\", expires = 2027-01-31T00:00:00Z }}"
        );
        let shown = read(&text).expect("it is right").to_toml();
        assert!(!shown.contains(&key.to_string()) && !shown.contains("argon2id"), "{shown}");
        assert!(shown.contains("ann") && shown.contains("worker"), "{shown}");
        let plain = Config::default().to_toml();
        assert_eq!(read(&plain).expect("it is right").to_toml(), plain);
    }
}
