//! Answers are written, field by field, not built as trees: what is on the wire is what stands here.

use travertine_runtime::{Key, Named, Timestamp};
use travertine_value::{Name, Value};

/// The one tenant there is.
pub(super) const TENANT: &str = "<default>";

/// The first millisecond of the year 0, and the last of the year 9999.
const FIRST: Timestamp = Timestamp::from_millis(-62_167_219_200_000);
const LAST: Timestamp = Timestamp::from_millis(253_402_207_200_000);

/// JSON texts.
#[derive(Debug)]
pub(super) struct Json;

/// The fields of an object that is being written.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    text: &'a mut String,
    is_first: bool,
}

impl Json {
    /// An object.
    pub(super) fn object(write: impl FnOnce(&mut Fields<'_>)) -> String {
        let mut text = String::new();
        object(&mut text, write);
        text
    }

    /// A list of objects.
    pub(super) fn array<T>(all: &[T], write: impl FnMut(&mut Fields<'_>, &T)) -> String {
        let mut text = String::new();
        objects(&mut text, all, write);
        text
    }
}

fn objects<T>(
    text: &mut String,
    all: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Fields<'_>, T),
) {
    text.push('[');
    for (position, it) in all.into_iter().enumerate() {
        if position > 0 {
            text.push(',');
        }
        object(text, |fields| write(fields, it));
    }
    text.push(']');
}

fn object(text: &mut String, write: impl FnOnce(&mut Fields<'_>)) {
    text.push('{');
    write(&mut Fields { text, is_first: true });
    text.push('}');
}

fn quoted(text: &mut String, it: &str) {
    use std::fmt::Write as _;
    text.push('"');
    for letter in it.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if control < ' ' => {
                let _: std::fmt::Result = write!(text, "\\u{:04x}", u32::from(control));
            }
            letter => text.push(letter),
        }
    }
    text.push('"');
}

impl Fields<'_> {
    fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.is_first) {
            self.text.push(',');
        }
        self.text.push('"');
        self.text.push_str(name);
        self.text.push_str("\":");
        self.text
    }

    pub(super) fn text(&mut self, name: &str, it: &str) {
        quoted(self.name(name), it);
    }

    pub(super) fn text_or_null(&mut self, name: &str, it: Option<&str>) {
        match it {
            Some(it) => self.text(name, it),
            None => self.null(name),
        }
    }

    pub(super) fn null(&mut self, name: &str) {
        self.name(name).push_str("null");
    }

    pub(super) fn flag(&mut self, name: &str, it: bool) {
        self.name(name).push_str(if it { "true" } else { "false" });
    }

    pub(super) fn int(&mut self, name: &str, it: impl Into<i64>) {
        use std::fmt::Write as _;
        let _: std::fmt::Result = write!(self.name(name), "{}", it.into());
    }

    /// A key, as decimal text. What has none, because its numbers are too large, has an impossible one.
    pub(super) fn key(&mut self, name: &str, it: Named) {
        use std::fmt::Write as _;
        let number = Key::of(it).map_or(-1, Key::number);
        let _: std::fmt::Result = write!(self.name(name), "\"{number}\"");
    }

    pub(super) fn key_or_null(&mut self, name: &str, it: Option<Named>) {
        match it {
            Some(it) => self.key(name, it),
            None => self.null(name),
        }
    }

    /// A point in time.
    pub(super) fn date(&mut self, name: &str, at: Timestamp) {
        // What lies beyond has no text that everybody reads.
        let at = at.clamp(FIRST, LAST);
        quoted(self.name(name), &at.to_string());
    }

    pub(super) fn date_or_null(&mut self, name: &str, at: Option<Timestamp>) {
        match at {
            Some(at) => self.date(name, at),
            None => self.null(name),
        }
    }

    /// What is JSON already.
    pub(super) fn json(&mut self, name: &str, json: &str) {
        self.name(name).push_str(json);
    }

    pub(super) fn value(&mut self, name: &str, it: &Value) {
        use std::fmt::Write as _;
        let _: std::fmt::Result = write!(self.name(name), "{it}");
    }

    pub(super) fn variables(&mut self, name: &str, all: &[(Name, Value)]) {
        use std::fmt::Write as _;
        object(self.name(name), |fields| {
            for (name, value) in all {
                if !std::mem::take(&mut fields.is_first) {
                    fields.text.push(',');
                }
                quoted(fields.text, name);
                let _: std::fmt::Result = write!(fields.text, ":{value}");
            }
        });
    }

    pub(super) fn object(&mut self, name: &str, write: impl FnOnce(&mut Fields<'_>)) {
        object(self.name(name), write);
    }

    pub(super) fn texts<T: AsRef<str>>(&mut self, name: &str, all: impl IntoIterator<Item = T>) {
        let text = self.name(name);
        text.push('[');
        for (position, it) in all.into_iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            quoted(text, it.as_ref());
        }
        text.push(']');
    }

    pub(super) fn list<T>(
        &mut self,
        name: &str,
        all: impl IntoIterator<Item = T>,
        write: impl FnMut(&mut Fields<'_>, T),
    ) {
        objects(self.name(name), all, write);
    }

    pub(super) fn tenant(&mut self) {
        self.text("tenantId", TENANT);
    }
}
