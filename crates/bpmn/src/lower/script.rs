//! What scripts ask for that only a Java application has, or only a browser or Node.

use std::collections::BTreeSet;

use travertine_lang::execution_has;

use super::Lowering;
use crate::expression::Text;

/// What Camunda 7 puts into scripts that is not here.
const JAVA: &[&str] = &[
    "task",
    "delegateTask",
    "connector",
    "Java",
    "Packages",
    "S",
    "Spin",
    "spin",
    "historyService",
    "repositoryService",
    "runtimeService",
    "taskService",
    "java",
    "javax",
];

/// What scripts have elsewhere that nothing here stands for.
const ELSEWHERE: &[&str] =
    &["Date", "performance", "console", "print", "require", "fetch", "setTimeout", "setInterval"];

/// The languages whose words are known.
const JAVASCRIPT: &[&str] = &["javascript", "js", "ecmascript", "text/javascript"];

impl<'a> Lowering<'a> {
    /// Warns of a script of a Camunda 7 model that can only fail when it is run.
    pub(super) fn check_script(&self, text: Text<'a>) {
        let language = text.language.unwrap_or_default().trim().to_lowercase();
        if !JAVASCRIPT.contains(&language.as_str()) {
            return;
        }
        let Asked { java, elsewhere } = asked(text.source);
        if !java.is_empty() {
            let message =
                format!("the script asks for {}, which only Camunda's Java API has", listed(&java));
            let help = "use variables, or execution.getVariable and execution.setVariable; else let a worker do \
                        it";
            self.warn("TV0728", text.at, message, help);
        }
        if !elsewhere.is_empty() {
            let message =
                format!("the script asks for {}, which scripts do not have", listed(&elsewhere));
            let help = "scripts neither see the time nor anything outside: take it from a variable, or let a worker \
                        do it";
            self.warn("TV0728", text.at, message, help);
        }
    }
}

fn listed(all: &BTreeSet<String>) -> String {
    all.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
}

/// What a script asks for in vain.
#[derive(Default)]
struct Asked {
    /// What only Camunda's Java API has.
    java: BTreeSet<String>,
    /// What no script has here.
    elsewhere: BTreeSet<String>,
}

/// The words that a script reaches into without having declared them, and what it asks `execution` for in
/// vain.
fn asked(source: &str) -> Asked {
    let words = words(source);
    let declared: BTreeSet<&str> = words
        .windows(2)
        .filter(|it| ["var", "let", "const", "function", "class"].contains(&it[0]))
        .map(|it| it[1])
        .collect();
    let mut found = Asked::default();
    for (position, word) in words.iter().enumerate() {
        let before = position.checked_sub(1).map_or("", |it| words[it]);
        let (after, name) = (
            words.get(position + 1).copied(),
            words.get(position + 2).copied().unwrap_or_default(),
        );
        if before == "." || declared.contains(word) {
            continue;
        }
        let reaches = matches!(after, Some("." | "("));
        if reaches && JAVA.contains(word) {
            found.java.insert((*word).to_owned());
        }
        if *word == "execution" && after == Some(".") && !execution_has(name) {
            found.java.insert(format!("execution.{name}"));
        }
        if (reaches || before == "new") && ELSEWHERE.contains(word) {
            found.elsewhere.insert((*word).to_owned());
        }
    }
    found
}

/// The names and signs of a script, without texts and comments.
fn words(source: &str) -> Vec<&str> {
    let is_part = |it: char| it.is_alphanumeric() || it == '_' || it == '$';
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' | '`' => quoted(rest, first),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |it| it + 2),
            _ if is_part(first) => {
                let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                words.push(&rest[..length]);
                length
            }
            _ => {
                if !first.is_whitespace() {
                    words.push(&rest[..first.len_utf8()]);
                }
                first.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    words
}

/// How long a text in quotes is, with them.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_java_has_is_found_among_the_words() {
        let found = |text| asked(text).java.into_iter().collect::<Vec<_>>();
        assert_eq!(found("task.execution.setVariable('a', 1)"), ["task"]);
        assert_eq!(found("var t = Java.type('x'); S(json).prop('task.x')"), ["Java", "S"]);
        assert_eq!(found("execution.getVariable('a') + execution.getId()"), Vec::<&str>::new());
        assert_eq!(
            found("execution.getProcessEngineServices()"),
            ["execution.getProcessEngineServices"]
        );
        assert_eq!(
            found("var task = {name: 'x'}; task.name // delegateTask.x"),
            Vec::<&str>::new()
        );
        assert_eq!(found("order.task.name + \"task.x\" /* task.y */"), Vec::<&str>::new());
    }
}
