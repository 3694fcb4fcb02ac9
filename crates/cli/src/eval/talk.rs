//! Lets people type one expression after the other.

use anyhow::Result;
use clap::ValueEnum as _;
use travertine_value::Name;

use super::{language::Speaker, show, tell, warn};
use crate::{
    args::Lang,
    feel, pairs,
    prompt::{Line, Prompt},
    screen::Screen,
    status::Status,
};

const HELP: &str = "\
  an expression         its value; with an open bracket or quote it goes on in the next line
  :vars                 the variables
  :set NAME=VALUE       set one: JSON where the value is JSON, otherwise text
  :let NAME = EXPR      set one to what an expression gives
  :unset NAME           forget one
  :lang feel|js|juel    use another language
  :help, :quit          this list; leave, as does Ctrl-D";

/// Answers what is typed until someone leaves.
pub(super) fn talk(
    speaker: &mut Speaker,
    prompt: &mut Prompt,
    strict: bool,
    out: &Screen,
) -> Result<Status> {
    out.line(out.paint.dim(":help lists what can be typed"));
    loop {
        let text = match read(prompt, speaker.lang)? {
            Line::Text(text) => text,
            Line::End => return Ok(Status::Done),
            Line::Interrupted => return Ok(Status::Interrupted),
        };
        match text.trim() {
            "" => {}
            ":quit" | ":q" | ":exit" => return Ok(Status::Done),
            command if command.starts_with(':') => {
                if let Err(fault) = obey(speaker, command, out) {
                    out.line(format!("  {fault}"));
                }
            }
            _ => answer(speaker, &text, strict, out),
        }
        if out.is_closed() {
            return Ok(Status::Done);
        }
    }
}

/// A line, and those that belong to it: a bracket or quote is open at its end.
fn read(prompt: &mut Prompt, lang: Lang) -> Result<Line> {
    let name = title(lang);
    let mut text = match prompt.ask(&format!("{name}> "))? {
        Line::Text(text) => text,
        other => return Ok(other),
    };
    while is_open(&text) && !text.trim_start().starts_with(':') {
        match prompt.ask(&format!("{}| ", " ".repeat(name.len())))? {
            // Who sees no end of it leaves the line empty.
            Line::Text(line) if line.trim().is_empty() => break,
            Line::Text(line) => {
                text.push('\n');
                text.push_str(&line);
            }
            other => return Ok(other),
        }
    }
    Ok(Line::Text(text))
}

/// Whether a bracket or a quote is not closed.
fn is_open(text: &str) -> bool {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_i64, false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    is_quoted || depth > 0
}

fn answer(speaker: &Speaker, text: &str, strict: bool, out: &Screen) {
    match speaker.evaluate(text) {
        Ok(evaluated) => {
            warn(&evaluated, strict, out);
            if !strict || evaluated.warnings.is_empty() {
                show(&evaluated, false, out);
            }
        }
        Err(failure) => {
            tell(&failure, text, out);
        }
    }
}

fn obey(speaker: &mut Speaker, command: &str, out: &Screen) -> Result<(), String> {
    let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    match word {
        ":help" | ":h" | ":?" => out.lines(HELP),
        ":vars" if speaker.variables.is_empty() => out.line("  there are none"),
        ":vars" => {
            for (name, value) in &speaker.variables {
                out.line(format!("  {name} = {}", feel::line(value)));
            }
        }
        ":set" => {
            for pair in pairs::words(rest) {
                let (name, value) = pairs::pair(&pair)?;
                speaker.variables.insert(name, value.into());
            }
        }
        ":let" => {
            let (name, text) = rest.split_once('=').ok_or("write :let NAME = EXPR")?;
            match speaker.evaluate(text) {
                Ok(evaluated) => {
                    warn(&evaluated, false, out);
                    speaker.variables.insert(Name::from(name.trim()), evaluated.value);
                }
                Err(failure) => {
                    tell(&failure, text, out);
                }
            }
        }
        ":unset" => {
            speaker.variables.remove(rest).ok_or_else(|| format!("there is no variable {rest}"))?;
        }
        ":lang" => {
            let unknown = |_| format!("`{rest}` is no language here; there are feel, js and juel");
            speaker.lang = Lang::from_str(rest, true).map_err(unknown)?;
        }
        _ => return Err(format!("`{word}` is no command; :help lists them all")),
    }
    Ok(())
}

fn title(lang: Lang) -> &'static str {
    match lang {
        Lang::Feel => "feel",
        Lang::Js => "js",
        Lang::Juel => "juel",
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use expect_test::{Expect, expect};

    use super::*;
    use crate::{clock, eval::Given, paint::Paint};

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// What is said when these lines are typed.
    fn conversation(lines: &[&'static str], said: &Expect) {
        let paper = Paper::default();
        let out = Screen::new(Box::new(paper.clone()), Paint::plain());
        let now = clock::date("2026-01-05T09:00:00Z").unwrap();
        let mut speaker = Speaker::new(Lang::Feel, now, Given::default());
        let mut prompt = Prompt::Script(Vec::from(lines).into_iter(), out.clone());
        talk(&mut speaker, &mut prompt, false, &out).unwrap();
        said.assert_eq(&String::from_utf8(std::mem::take(&mut *paper.0.lock().unwrap())).unwrap());
    }

    #[test]
    fn expressions_and_variables_are_typed_one_after_the_other() {
        conversation(
            &[
                "1 + 1",
                ":set amount=1200 name=Ann",
                ":let due = today() + @\"P1D\"",
                ":vars",
                "amount > 1000 and name = \"Ann\"",
                ":unset name",
                "name",
                ":lang js",
                "amount / 2",
                ":lang cobol",
                ":frob",
                ":quit",
            ],
            &expect![[r#"
                :help lists what can be typed
                feel> 1 + 1
                2
                feel> :set amount=1200 name=Ann
                feel> :let due = today() + @"P1D"
                feel> :vars
                  amount = 1200
                  due = @"2026-01-06"
                  name = "Ann"
                feel> amount > 1000 and name = "Ann"
                true
                feel> :unset name
                feel> name
                warning: there is no variable name (line 1, column 1)
                null
                feel> :lang js
                js> amount / 2
                600
                js> :lang cobol
                  `cobol` is no language here; there are feel, js and juel
                js> :frob
                  `:frob` is no command; :help lists them all
                js> :quit
            "#]],
        );
    }

    #[test]
    fn what_is_open_goes_on_in_the_next_line() {
        conversation(
            &["for i in [1,", "  2] return (i", "  * 2)", "1 +", "[1, 2", ""],
            &expect![[r"
                :help lists what can be typed
                feel> for i in [1,
                    |   2] return (i
                    |   * 2)
                [2, 4]
                feel> 1 +
                error TV2101: this is not FEEL: expected an expression, found the end
                 --> expression:1:4
                1 | 1 +
                  |    ^
                feel> [1, 2
                    |
                error TV2101: this is not FEEL: expected ']', found the end
                 --> expression:1:6
                1 | [1, 2
                  |      ^
                feel> ^D
            "]],
        );
    }
}
