//! `docs/settings.md`: all that can be set of an engine, as the sources say it. `UPDATE_EXPECT=1` writes it anew.

use std::{fmt, fmt::Write as _, fs, path::Path};

use syn::{Attribute, Expr, ExprLit, Field, Item, ItemStruct, Lit, Meta, Visibility};
use travertine_runtime::engine::Options;

use crate::root;

const HEAD: &str = "\
# What can be set

All settings of an engine in a program, and what holds where nothing is said. `Engine::open_with` takes
[`Options`](#options); its larger parts are structs of their own, below. Name what you change and leave the rest:

```rust
let budgets = Budgets { tokens: 10_000, ..Budgets::default() };
let settings = Settings { budgets, ..Settings::default() };
let engine = Engine::open_with(\"orders\", Options { settings, ..Options::default() })?;
```

What happens beyond a limit is in [operations](operations.md#limits). A process can set limits of its own, with
[extensions](extensions.md); the binary `travertine` has flags for what people want to change there.
";

/// Defaults that need words.
const SAID: [(&str, &str); 10] = [
    ("shards", "a quarter of the cores, from 1 to 16"),
    ("lanes", "one for each shard; half as many as there are cores behind a network"),
    ("storage_retry", "from 100 ms on, twice as long each time, up to 5 s"),
    ("clock", "the machine's"),
    ("functions", "all that the program is linked with"),
    ("dependencies", "none"),
    ("limits", "none"),
    ("settings.history.jobs", "`No`"),
    ("settings.history.tasks", "`WithInstance`"),
    ("settings.history.incidents", "`WithInstance`"),
];

/// A struct of settings: where its fields are found in [`Options`], the crate it is in, and what holds.
struct Part {
    path: &'static str,
    room: &'static str,
    name: &'static str,
    defaults: String,
}

fn parts() -> Vec<Part> {
    let options = Options::default();
    let settings = &options.settings;
    let part = |path, room, name, defaults: &dyn fmt::Debug| Part {
        path,
        room,
        name,
        defaults: format!("{defaults:?}"),
    };
    vec![
        part("", "runtime", "Options", &options),
        part("retention", "runtime", "Retention", &options.retention),
        part("pace", "runtime", "Pace", &options.pace),
        part("settings", "runtime", "Settings", settings),
        part("settings.budgets", "kernel", "Budgets", &settings.budgets),
        part("settings.history", "runtime", "KeptHistory", &settings.history),
        part("settings.functions", "runtime", "FunctionSettings", &settings.functions),
        part("settings.functions.session", "func", "SessionSettings", &settings.functions.session),
    ]
}

/// The struct of that name in a crate.
fn found(folder: &Path, name: &str) -> Option<ItemStruct> {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a crate has sources")
        .map(|it| it.expect("they can be read").path())
        .collect();
    entries.sort();
    entries.iter().find_map(|path| {
        if path.is_dir() {
            return found(path, name);
        }
        let text = fs::read_to_string(path).expect("a source is a text");
        if path.extension()? != "rs" || !text.contains(&format!("pub struct {name} {{")) {
            return None;
        }
        let items = syn::parse_file(&text).expect("a source is Rust").items;
        items.into_iter().find_map(|item| match item {
            Item::Struct(it) if it.ident == name => Some(it),
            _ => None,
        })
    })
}

fn is_offered(field: &Field) -> bool {
    let hidden = |it: &Attribute| matches!(&it.meta, Meta::List(it) if it.path.is_ident("doc") && it.tokens.to_string() == "hidden");
    matches!(field.vis, Visibility::Public(_)) && !field.attrs.iter().any(hidden)
}

/// What stands above it, up to an example.
fn said(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|it| match &it.meta {
        Meta::NameValue(it) if it.path.is_ident("doc") => match &it.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.take_while(|it| !it.starts_with("```")).collect();
    lines.join(" ").trim().replace('|', "\\|")
}

/// The values of the fields of a struct that was printed for debugging.
fn values(printed: &str) -> Vec<(String, String)> {
    let (_, inside) = printed.split_once('{').expect("it has fields");
    let (mut depth, mut begin, mut fields) = (0, 0, Vec::new());
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                fields.push(&inside[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    let pairs = fields.into_iter().filter_map(|it| it.split_once(':'));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// A value in words, where it is a simple one.
fn plain(value: &str) -> Option<String> {
    let value = value.strip_prefix("Some(").and_then(|it| it.strip_suffix(')')).unwrap_or(value);
    match value {
        "true" => return Some("yes".to_owned()),
        "false" => return Some("no".to_owned()),
        "None" => return Some("none".to_owned()),
        _ => {}
    }
    if let Ok(number) = value.parse::<i128>() {
        return Some(grouped(number));
    }
    if let Some(number) = value.strip_suffix("ms") {
        return number.parse::<f64>().ok().map(|it| format!("{it} ms"));
    }
    let seconds: u64 = value.strip_suffix('s')?.parse().ok()?;
    let units = [("days", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
    let (unit, size) =
        units.into_iter().find(|(_, size)| seconds.is_multiple_of(*size) && seconds >= *size)?;
    Some(format!("{} {unit}", seconds / size))
}

/// A number by thousands.
fn grouped(number: i128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let parts = parts();
    for part in &parts {
        let folder = root().join("crates").join(part.room).join("src");
        let item = found(&folder, part.name).unwrap_or_else(|| panic!("{} is gone", part.name));
        let within = if part.path.is_empty() {
            String::new()
        } else {
            format!("`{}` in `Options`. ", part.path)
        };
        let what = said(&item.attrs);
        write!(page, "\n## {}\n\n{within}{what}\n\n", part.name).expect("it is a text");
        page.push_str("| field | default | what it says |\n|---|---|---|\n");
        let values = values(&part.defaults);
        for field in item.fields.iter().filter(|it| is_offered(it)) {
            let name = field.ident.as_ref().expect("it has a name").to_string();
            let path = [part.path, &name].into_iter().filter(|it| !it.is_empty());
            let path = path.collect::<Vec<_>>().join(".");
            let value = values.iter().find(|(it, _)| *it == name).map(|(_, value)| value.as_str());
            let default = if let Some(below) = parts.iter().find(|it| it.path == path) {
                format!("[{}](#{})", below.name, below.name.to_lowercase())
            } else if let Some((_, said)) = SAID.iter().find(|(it, _)| *it == path) {
                (*said).to_owned()
            } else {
                let value = value.unwrap_or_else(|| panic!("{path} is not printed"));
                plain(value).unwrap_or_else(|| panic!("say in words that {path} is {value}"))
            };
            writeln!(page, "| `{name}` | {default} | {} |", said(&field.attrs))
                .expect("it is a text");
        }
    }
    page
}

#[test]
fn the_page_has_all_that_can_be_set() {
    let (path, page) = (root().join("docs/settings.md"), page());
    let found = fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("UPDATE_EXPECT").is_some() && found != page {
        fs::write(&path, &page).unwrap();
        return;
    }
    let different = found.lines().zip(page.lines()).find(|(is, should)| is != should);
    assert!(found == page, "UPDATE_EXPECT=1 writes docs/settings.md anew: {different:#?}");
}

#[test]
fn defaults_are_told_in_words() {
    let told = |value| plain(value).unwrap_or_default();
    assert_eq!(told("1048576"), "1,048,576");
    assert_eq!(told("999"), "999");
    assert_eq!(told("604800s"), "7 days");
    assert_eq!(told("90s"), "90 s");
    assert_eq!(told("500ms"), "500 ms");
    assert_eq!(told("Some(60s)"), "1 min");
    assert_eq!(told("None"), "none");
    assert_eq!(plain("Retry { first: 1s }"), None);
    let printed = "Pace { changed: 5, retry: Retry { a: [1, 2], b: (3) }, last: None }";
    let fields = [("changed", "5"), ("retry", "Retry { a: [1, 2], b: (3) }"), ("last", "None")];
    let fields: Vec<_> = fields.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    assert_eq!(values(printed), fields);
}
